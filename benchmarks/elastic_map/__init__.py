"""`elastic-map`: a function that calls a service, inside Spark, beside plain and fixed pools.

May import all of penstock, and pyspark for the peer in `arrow_udf.py`.  Begin with `elastic_map.py`.
"""
