"""Sash in PySpark.

Nothing can be imported from here yet: `aggregate(df, query)` is still to come. Until then a Spark job can use
the algorithms of `sash.aggregators` inside `applyInPandas` and `mapInPandas`.
"""
