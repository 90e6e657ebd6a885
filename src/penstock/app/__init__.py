"""What users write: streams, operators, windows, schemas, expressions."""
