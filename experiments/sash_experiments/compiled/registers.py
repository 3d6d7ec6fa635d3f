"""An algorithm's counters and single partials in the processor's registers, for as long as a loop runs.

An array that others may know of lives in memory: the next value waits until what the last one wrote there can be read
again, which takes longer than a merge. So loops copy the small arrays of a state to their stack, and back at the end;
the compiler keeps what nobody else can see in registers. All algorithms gain alike.
"""

from __future__ import annotations

import math
from typing import Any

import numba
from llvmlite import ir
from numba.np import arrayobj

from sash_experiments.compiled.jit import instruction
from sash_experiments.compiled.steps import Steps

__all__ = ["hold"]

types: Any = numba.core.types
cgutils: Any = numba.core.cgutils
populate_array: Any = arrayobj.populate_array


def hold(steps: Steps) -> tuple[Any, Any]:
    """``take(state)``: the state, its held arrays on the caller's stack; ``leave(taken, state)`` copies them back."""
    sample = steps.arrays(1)
    shapes = {place: sample[place].shape for place in steps.held}

    @instruction
    def take(typing_context: Any, state: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = list(cgutils.unpack_tuple(builder, arguments[0]))
            for place, shape in shapes.items():
                arrays[place] = _copy(context, builder, signature.args[0][place], arrays[place], shape)
            return context.make_tuple(builder, signature.return_type, arrays)

        return state(state), code

    @instruction
    def leave(typing_context: Any, taken: Any, state: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sources, targets = (cgutils.unpack_tuple(builder, each) for each in arguments)
            for place, shape in shapes.items():
                kind = signature.args[0][place]
                source, target = (
                    context.make_array(kind)(context, builder, each[place]) for each in (sources, targets)
                )
                cgutils.raw_memcpy(
                    builder, target.data, source.data, _number(context, math.prod(shape)), _size(context, kind)
                )
            return context.get_dummy_value()

        return types.none(taken, state), code

    return take, leave


def _copy(context: Any, builder: Any, kind: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """A copy of an array on the stack."""
    there, here = context.make_array(kind)(context, builder, array), context.make_array(kind)(context, builder)
    item, size = context.get_data_type(kind.dtype), _size(context, kind)
    room = cgutils.alloca_once(builder, ir.ArrayType(item, math.prod(shape)))
    strides = (size * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    numbers = ([_number(context, each) for each in of] for of in (shape, strides))
    populate_array(here, builder.bitcast(room, item.as_pointer()), *numbers, _number(context, size), None)
    cgutils.raw_memcpy(builder, here.data, there.data, _number(context, math.prod(shape)), size)
    return here._getvalue()


def _size(context: Any, kind: Any) -> int:
    size: int = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    return size


def _number(context: Any, value: int) -> Any:
    return context.get_constant(types.intp, value)
