"""The timeline's geometry: lanes, levels of detail, and the picture of a slice. Knows no protobuf."""
