"""Numba: plain functions to machine code, and the kinds that it infers. Imported only when they are needed.

Numba compiles a function but not the plain functions that it calls, so those are compiled with it. What Numba cannot
compile (text, objects, dictionaries) is :class:`sash.kernels.kinds.NotCompilable`, with the reason in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numba
from llvmlite import ir
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import cgutils, compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NativeLowering, NopythonTypeInference
from numba.extending import intrinsic

from sash.aggregations.base import Full, Functions
from sash.kernels.disk_cache import DiskCache
from sash.kernels.kinds import DTypes, Kind, Kinds, NotCompilable, is_builtin

__all__ = ["compile_for", "dispatcher", "infer_kinds", "inner", "jitted", "prefetch"]

types: Any = numba.core.types

# NumPy's rules for a division by zero: a kernel is a loop over values that may be anything
_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# without what makes it callable from Python, which takes as long to compile as a small function itself
_INNER = {**_OPTIONS, "no_cpython_wrapper": True}
_ALLOCATING = {"empty", "zeros", "copy"}

# besides errors of its own, Numba's inference ends in these on code that it does not know
_ERRORS = (NumbaError, UnsupportedBytecodeError, NotImplementedError, AssertionError, KeyError)

_compiled: WeakKeyDictionary[Callable[..., Any], Any] = WeakKeyDictionary()


def dispatcher(function: FunctionType, digest: str | None) -> Any:
    """A function that Numba compiles when it is called, and that releases the GIL; kept on disk under the digest."""
    compiled: Any = CPUDispatcher(function, targetoptions=_with_counts(_OPTIONS, function))
    if digest is not None:
        compiled._cache = DiskCache(digest)
    return compiled


def inner(function: FunctionType) -> Any:
    """The same for a function that compiled functions call, and nobody else."""
    return CPUDispatcher(function, targetoptions=_with_counts(_INNER, function), pipeline_class=_InnerCompiler)


def _with_counts(options: dict[str, Any], function: FunctionType) -> dict[str, Any]:
    """Count references to arrays only where some are made: counting is a third of the code of a kernel."""
    return {**options, "_nrt": not _ALLOCATING.isdisjoint(function.__code__.co_names)}


class _InnerLibrary(JITCodeLibrary):
    """Code that is linked into its callers, and optimised and turned into machine code only there."""

    def _optimize_final_module(self) -> None:
        pass

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        state.library = library = _InnerLibrary(state.targetctx.codegen(), name)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state.cr
        # Numba finds the code to link by this object, which nobody calls
        handle = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(handle, lowered.fndesc, [library])
        state.cr = lowered._replace(cfunc=handle)
        return True


class _InnerCompiler(compiler.CompilerBase):
    """Numba's compiler as far as code to link."""

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        linked = PassManager("inner")
        for step, why in passes.passes:
            linked.add_pass(_InnerLowering if step is NativeLowering else step, why)
        linked.finalize()
        return [linked]


def jitted(function: Callable[..., Any]) -> Any:
    """``function`` and all plain functions that it calls, to be called by compiled functions only."""
    if isinstance(function, CPUDispatcher):
        return function
    function = _PLAIN.get(function, function)
    if not isinstance(function, FunctionType):
        raise NotCompilable(f"{function!r} is not a plain function")
    known = _compiled.get(function)
    if known is None:
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(names.get(name), FunctionType):
                names[name] = jitted(names[name])
        linked = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
        # a user's function may raise, for which Numba needs it loaded
        pipeline = _InnerCompiler if is_builtin([function]) else compiler.Compiler
        options = {**_INNER, "_nrt": True}
        known = _compiled[function] = CPUDispatcher(linked, targetoptions=options, pipeline_class=pipeline)
    return known


# builtins that users pass as functions
_PLAIN: dict[Any, Any] = {
    max: lambda a, b: max(a, b),  # noqa: PLW0108
    min: lambda a, b: min(a, b),  # noqa: PLW0108
    abs: lambda value: abs(value),  # noqa: PLW0108
    bool: lambda value: bool(value),  # noqa: PLW0108
    float: lambda value: float(value),  # noqa: PLW0108
    int: lambda value: int(value),  # noqa: PLW0108
}


@intrinsic
def prefetch(_: Any, array: Any, place: Any) -> Any:
    """Have the second-level cache fetch what is at a place of an array, or behind its end: nothing is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        bytes_, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [bytes_, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        to_read, second_level, of_data = number(0), number(2), number(1)
        at = builder.bitcast(builder.gep(data, [arguments[1]]), bytes_)
        builder.call(function, [at, to_read, second_level, of_data])
        return context.get_dummy_value()

    return types.void(array, place), generate


def compile_for(compiled: Any, arguments: tuple[Any, ...]) -> None:
    """Compile a dispatcher for arguments like these, or load what was compiled before."""
    try:
        compiled.compile(tuple(map(numba.typeof, arguments)))
    except NumbaError as error:
        raise NotCompilable(_one_line(error)) from error


def infer_kinds(functions: Functions | Full, inputs: DTypes, takes_tuples: bool) -> Kinds:
    """What functions return for columns of these types, by Numba's inference: only what they call is compiled."""
    lift, combine, lower = (jitted(function).py_func for function in functions[:3])
    full = isinstance(functions, Full)
    columns = tuple(map(numba.from_dtype, inputs))
    partial = _partial_type(lift, combine, (types.Tuple(columns),) if takes_tuples else columns + columns[:full])
    result = _returned(lower, (partial, types.int64) if full else (partial,))
    real = result.type if isinstance(result, types.Optional) else result
    if isinstance(partial, types.BaseNamedTuple):
        raise NotCompilable(f"{partial} is a named tuple, which columns do not hold")
    return Kinds(_kind(partial), _kind(real), real is not result, isinstance(real, types.BaseNamedTuple))


def _returned(function: FunctionType, arguments: tuple[Any, ...]) -> Any:
    """The type that a function returns for arguments of the given types."""
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, _OPTIONS)
    contexts = (cpu_target.typing_context, cpu_target.target_context)
    try:
        with global_compiler_lock:
            return types.unliteral(_Inference(*contexts, None, arguments, None, flags, {}).compile_extra(function))
    except _ERRORS as error:
        raise NotCompilable(_one_line(error)) from error


@register_pass(mutates_CFG=False, analysis_only=True)
class _Stop(AnalysisPass):
    _name = "stop_after_inference"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        raise compiler._EarlyPipelineCompletion(state.return_type)


class _Inference(compiler.CompilerBase):
    """Numba's compiler as far as the inference of types."""

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("inference")
        passes.passes.extend(compiler.DefaultPassBuilder.define_untyped_pipeline(self.state).passes)
        passes.add_pass(NopythonTypeInference, "inference")
        passes.add_pass(_Stop, "stop")
        passes.finalize()
        return [passes]


def _one_line(error: Exception) -> str:
    """What Numba's message of many lines is about."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "During", "File", "def ", "^", "<source"))]
    return (telling or lines or [type(error).__name__])[0][:160]


def _partial_type(lift: Any, combine: Any, inputs: tuple[Any, ...]) -> Any:
    """The type of a partial: what ``lift`` returns, widened until ``combine`` keeps it."""
    partial = _plain(_returned(lift, inputs))
    for _ in range(3):
        merged = _plain(_returned(combine, (partial, partial)))
        if merged == partial:
            return partial
        partial = cpu_target.typing_context.unify_types(partial, merged)
        if partial is None:
            break
    raise NotCompilable("combine does not return a partial of the type that it is given")


def _plain(kind: Any) -> Any:
    """Without literals: a tuple that begins with the number 1 is one that begins with an integer."""
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return types.BaseTuple.from_types([_plain(part) for part in kind.types])
    return types.unliteral(kind)


def _kind(numba_type: Any) -> Kind:
    if isinstance(numba_type, types.BaseTuple):
        return tuple(map(_kind, numba_type))
    if not isinstance(numba_type, types.Number | types.Boolean):
        raise NotCompilable(f"{numba_type} is not made of numbers only")
    return str(numba.np.numpy_support.as_dtype(numba_type).name)
