"""The loop that observes, decides and acts; its values and ports."""
