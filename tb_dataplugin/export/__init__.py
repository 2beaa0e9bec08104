"""Renders a report: JSON, text. Nothing is computed here."""
