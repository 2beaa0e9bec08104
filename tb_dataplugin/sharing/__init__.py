"""Traces made smaller, and made safe to show: what `prune` and `anonymise` write."""
