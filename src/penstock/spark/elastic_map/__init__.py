"""elastic_map."""
