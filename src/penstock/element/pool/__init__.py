"""An elastic pool of threads inside one `mapInArrow`, for any PySpark DataFrame."""
