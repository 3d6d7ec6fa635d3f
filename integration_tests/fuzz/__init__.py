"""Fuzzing of all that Sash reads: saved states, query files, data files, Arrow tables. A test tool.

    target.inputs    ── a mutation, chosen by a seed ──>  data  ── target.check ──>  nothing, or a fault

``make fuzz`` tries mutations for ten minutes, ``python -m integration_tests.fuzz --target states --seed 7`` one again.
Inputs that once showed a fault are kept in ``corpus/``, and tried first.
"""
