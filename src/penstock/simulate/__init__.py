"""Models that stand in for machines nobody here has, behind the same ports as the real thing."""
