"""Recording a program whose code does not mention us: what `tb-dataplugin run` starts in each of its Python processes.

`site` is first on the program's PYTHONPATH. Its `sitecustomize` leaves a hook that sleeps until a DataLoader is
iterated; `begin` then follows all loaders, `waiting` says when to record, and `recording` does it, once.
"""
