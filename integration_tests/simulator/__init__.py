"""A simulator of Flink and Spark for adapters: one process, one thread, a scheduler that a seed decides. A test tool.

    rows ── source, watermarks, packs ── channels ── tasks: sash_flink's functions ── results, committed by checkpoints
    rows ── micro-batches ── tasks of workers: sash_spark's buckets ── results, committed batch by batch

What adapters consist of is real: the functions themselves, PyFlink's state backend with its caches, its contexts and
timer service, PySpark's group states. What surrounds them is simulated: channels, checkpoints, timers and the state of
the JVM, the planning of micro-batches, workers. Anything may crash at any call of the state API and at any step; then
state and input go back to the last checkpoint or batch. In the end rows are compared with the definition.

``python -m integration_tests.simulator --seeds 1000`` runs seeds; ``--seed 7 --engine flink-packed`` runs one and
prints its schedule. The same seed always runs the same schedule. ``--every-call 8`` crashes at every call of the state
API in turn, and once more at the next one, over the first 8 rows of each case.

A seed costs 15 to 40 ms of CPU. Nearly all of it is the product at work: some 30 calls of real operators, which read
their state anew after each crash. So most seeds run on few rows.
"""
