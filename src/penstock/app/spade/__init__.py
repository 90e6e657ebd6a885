"""The SPADE reader: programs as MODEL's appendix prints them."""
