"""Tables of many kinds in, results of the same kind out; every kind is read as NumPy arrays.

| data | columns are read as | results |
| --- | --- | --- |
| pandas DataFrame | its arrays; named levels of the index are columns too | a DataFrame |
| pyarrow Table, data set | its buffers, where it has no nulls and a single chunk | a Table |
| pyarrow RecordBatch | likewise | a RecordBatch |
| whatever has ``__arrow_c_stream__``, as a relation of DuckDB has | likewise | a Table |
| polars DataFrame | likewise | a DataFrame |
| polars LazyFrame | likewise; only the columns that the query reads are collected | a DataFrame |
| dict of arrays, of lists | the arrays | a dict of arrays, of lists |
| rows: an iterable of mappings | lists | a list of dicts |

Numbers and booleans are arrays of their type, masked where there are nulls; timestamps are ``datetime64`` (in UTC, if
the column has a zone, which is remembered), null as NaT; text, decimals and nested values are objects, null as None.
NaN in a column of floats is a value, not a null, except in pandas, where NumPy's floats and objects have no other null
(unless ``nan="value"``); columns of its nullable types and of Arrow's have one. No library is imported here: whoever
has data of its kind has imported it.
"""

from sash.frames.frame import Frame, columns_of, is_reader
from sash.frames.key_table import Renumbered, factorize, number_keys
from sash.values.arrays import in_micros, to_list
from sash.values.columns import Coded

__all__ = [
    "Coded",
    "Frame",
    "Renumbered",
    "columns_of",
    "factorize",
    "in_micros",
    "is_reader",
    "number_keys",
    "to_list",
]
