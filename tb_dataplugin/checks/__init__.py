"""Captures of a test against budgets and a stored baseline. Imports neither pytest nor annotate."""
