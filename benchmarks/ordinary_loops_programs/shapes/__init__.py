"""One program a file: its module name is the shape's name."""
