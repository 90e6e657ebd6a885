"""migration."""
