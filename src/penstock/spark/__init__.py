"""The only importer of pyspark: session, sources and sinks, envelopes, the micro-batch driver."""
