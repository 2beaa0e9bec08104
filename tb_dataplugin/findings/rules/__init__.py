"""One rule per file: ``check(Signals) -> Finding | None``. A rule that cannot tell stays silent."""
