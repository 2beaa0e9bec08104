"""Programs of the user's, run as subprocesses with `annotate` in them, or asked while they run. Never imports it."""
