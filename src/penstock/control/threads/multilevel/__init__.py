"""MULTILEVEL: which operators get a queue and how many threads there are, chosen together."""
