"""What happens inside one processing element: blocks, kernels, operators, state. Runs in-process; knows no pyspark."""
