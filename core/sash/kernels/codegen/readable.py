"""Arrays as kernels are compiled for: contiguous, and not marked as read-only, which to Numba is another type."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["readable"]

Array = np.ndarray[Any, Any]


class _Lent:
    """The memory of an array that is read-only, as if it were not: to kernels that do not write to it."""

    def __init__(self, array: Array) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def readable(array: Array, dtype: Any = None) -> Array:
    """The array itself if it can be, and without a copy if it is just read-only, as Arrow's are.

    >>> frozen = np.arange(3)
    >>> frozen.flags.writeable = False
    >>> readable(frozen).flags.writeable, np.shares_memory(readable(frozen), frozen)
    (True, True)
    """
    array = np.ascontiguousarray(array, dtype)
    return array if array.flags.writeable else np.asarray(_Lent(array))
