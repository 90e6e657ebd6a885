"""Online forecasters of a rate: one per file, all with the same two functions."""
