"""One rule per file: ``check(Signals) -> Finding | Abstention | None``, registered with `registry.rule`.

None: the rule looked and found nothing, or does not apply. Abstention: it applies, but the capture cannot decide it.
"""
