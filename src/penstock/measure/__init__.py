"""What was measured: Observations, and the journal that keeps them."""
