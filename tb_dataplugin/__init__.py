"""Reads Kineto Chrome traces and tells where every idle device microsecond went. Imports and runs without torch."""

__version__ = "0.1.0"
