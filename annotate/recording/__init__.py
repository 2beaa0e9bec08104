"""Recording: the switch that every hook asks, the recorders that spans go to, and the rows that they keep."""
