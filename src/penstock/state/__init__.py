"""Keyed state in slots: shared by the workers of a host, logged in the checkpoint, rebuilt exactly to a batch."""
