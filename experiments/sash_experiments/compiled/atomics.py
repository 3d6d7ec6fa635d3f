"""What two threads in compiled code hand over with, hints to the compiler, and the processor's cycle counter.

A release store makes all that was written before it visible to whoever reads the new value with an acquire load. Both
are plain moves on x86, and keep the compiler from moving other reads and writes across them.
"""

from __future__ import annotations

import platform
import time
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from sash_experiments.compiled.jit import instruction, loop, step

__all__ = ["load_acquire", "nanoseconds_per_tick", "pause", "prefetch", "seldom", "store_release", "ticks"]

_ALIGNED = 8
_VOID = ir.FunctionType(ir.VoidType(), [])
_X86 = platform.machine() in ("x86_64", "AMD64")
_ARM = platform.machine() in ("aarch64", "arm64")
_yield = types.ExternalFunction("sched_yield", types.int32())
_SPINS = 200
"""Looks at a flag before the processor is offered to other threads: some microseconds."""


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return cgutils.gep_inbounds(builder, data, index)  # type: ignore[no-untyped-call]


@instruction
def load_acquire(typing_context: Any, flags: Any, index: Any) -> Any:
    """``flags[index]``, and all that was written before it was stored."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(address, "acquire", _ALIGNED)

    return types.int64(flags, types.intp), code


@instruction
def store_release(typing_context: Any, flags: Any, index: Any, value: Any) -> Any:
    """``flags[index] = value``, after all that was written before."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place, number = arguments
        address = _address(context, builder, signature.args[0], array, place)
        builder.store_atomic(number, address, "release", _ALIGNED)
        return context.get_dummy_value()

    return types.none(flags, types.intp, types.int64), code


@instruction
def _relax(typing_context: Any) -> Any:
    """Tell the processor that this is a loop that waits, where it has an instruction for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _X86:
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", [], _VOID), [])
        return context.get_dummy_value()

    return types.none(), code


@instruction
def prefetch(typing_context: Any, rows: Any, offset: Any) -> Any:
    """Have the bytes at an offset of an array fetched, to be written soon. Nothing need be there."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        bytes_, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [bytes_, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [bytes_], kind)
        to_write, nearest, of_data = number(1), number(3), number(1)
        place = builder.gep(builder.bitcast(data, bytes_), [arguments[1]])
        builder.call(function, [place, to_write, nearest, of_data])
        return context.get_dummy_value()

    return types.none(rows, types.intp), code


@instruction
def seldom(typing_context: Any, condition: Any) -> Any:
    """The condition, with the compiler told that it hardly ever holds: what it leads to is kept out of the way."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        function = builder.module.declare_intrinsic("llvm.expect", [bit], kind)
        return builder.call(function, [arguments[0], bit(0)])

    return types.boolean(types.boolean), code


@instruction
def ticks(typing_context: Any) -> Any:
    """The processor's counter. It advances at a constant rate: that of its cycles, or near it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # on ARM, programs may not read the counter of cycles
        name = "llvm.readsteadycounter" if _ARM else "llvm.readcyclecounter"
        return builder.call(builder.module.declare_intrinsic(name, [], ir.FunctionType(ir.IntType(64), [])), [])

    return types.int64(), code


@step
def pause(looks: int) -> None:
    """What a thread does between two looks at a flag, after so many of them."""
    if looks < _SPINS:
        _relax()
    else:
        _yield()


@loop
def _now() -> int:
    return ticks()  # type: ignore[no-any-return]


def nanoseconds_per_tick(seconds: float = 0.05) -> float:
    """How long a tick takes, by the clock."""
    _now()
    clock, count = time.perf_counter_ns(), _now()
    time.sleep(seconds)
    return float((time.perf_counter_ns() - clock) / (_now() - count))
