"""One rule per file: ``check(Signals) -> Finding | Abstention | None``.

None: the rule looked and found nothing, or does not apply. Abstention: it applies, but the trace cannot tell.
"""
