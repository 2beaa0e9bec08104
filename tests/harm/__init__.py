"""First, do no harm: the user's program with us on, off, failing or killed is the program that it was without us.

`cells` names what is tried, `program` is the user's program, `sides` what annotate is in it, `observe` what is looked
at, `server` starts one process for each run, `compare` says what differs, and `faults` where we fail on purpose.
"""
