"""Sinks against real servers: `make services-test`."""
