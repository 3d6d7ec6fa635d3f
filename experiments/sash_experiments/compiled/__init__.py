"""The compiled rung: the merging algorithms as loops of machine code that take a value, then answer.

Each algorithm is a module, named as in :mod:`sash.aggregators`, and a direct transcription of it over flat arrays. Its
function, given the :class:`~sash_experiments.compiled.operations.Operations` of an aggregation, returns
:class:`~sash_experiments.compiled.steps.Steps`. A partial is a number, or a row of numbers that is merged in place, so
that merging costs what it does in a systems language. Nothing releases or takes the GIL between two values.
"""
