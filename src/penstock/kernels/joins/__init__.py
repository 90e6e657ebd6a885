"""joins."""
