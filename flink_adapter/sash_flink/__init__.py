"""Sash in PyFlink.

Nothing can be imported from here yet: `aggregate(stream, query)` is still to come. Until then a PyFlink job
can use the algorithms of `sash.aggregators` inside a `KeyedProcessFunction` of its own.
"""
