"""The typed contract of everything that is shown: `report.proto`, its generated code, and what fills it."""
