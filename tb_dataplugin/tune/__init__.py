"""Settings of a DataLoader, tried for real in short windows that alternate; what beats the best is kept."""
