"""Hooks: what the user marks, how a session finds it, and every change to somebody else's objects with the way back."""
