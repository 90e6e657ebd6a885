"""Running operators: each turns blocks into blocks and keeps its state."""
