"""event_time."""
