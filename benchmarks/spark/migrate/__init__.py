"""migrate."""
