"""Captures: `profile`, `replay`, and the session that both are."""
