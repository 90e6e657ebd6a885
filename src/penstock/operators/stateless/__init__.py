"""stateless."""
