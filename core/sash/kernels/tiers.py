"""Two tiers: loops over columns run as Python at first, and as machine code once their rows are worth compiling.

Both tiers run the same text in the same order, so rows are the same to the bit whenever one takes over from the other.
A new process answers small queries at once and does not even import Numba; what is on disk already is loaded early.

Numbers behave as in compiled code: users' functions are called with NumPy's integers, which wrap around, and Sash's own
with Python's, which are faster, since they never overflow. What fails as Python is compiled, and that decides.

``SASH_COMPILE_ROWS`` in the environment replaces ``COMPILE_ROWS``: 0 compiles at once; ``NUMBA_DISABLE_JIT=1`` never.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import update_wrapper
from types import FunctionType, ModuleType
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from sash.kernels.disk_cache import digest_of, is_on_disk
from sash.kernels.kinds import NotCompilable, is_builtin

__all__ = [
    "COMPILE_ROWS",
    "LOAD_ROWS",
    "Kernel",
    "Kernels",
    "Source",
    "compiling_at_once",
    "is_disabled",
    "kernels_of",
    "one_pass",
    "one_pass_after",
    "prefetch",
    "worth_compiling",
]

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _rows_from(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"the environment variable SASH_COMPILE_ROWS must be a number of rows; got {text!r}")
    return int(text)


COMPILE_ROWS = _rows_from(os.environ.get("SASH_COMPILE_ROWS", "200000"))
"""Rows after which a kernel is compiled: to run these as Python takes about as long as to compile it."""
LOAD_ROWS = 20_000
"""Rows after which a kernel that is on disk is loaded."""
CALL_ROWS = 50
"""What a call as Python costs beside its rows, in rows: so streams of small batches are compiled in time, too."""
MOST_KERNELS = 256
"""Texts of kernels that are kept."""
_VECTORISED = 16
"""How many times as many rows a pass must see that NumPy can do, too, in 50 to 100 ns a row."""


class Kernel:
    """One function in both tiers; ``compiled`` is None until its rows are worth it."""

    def __init__(
        self, python: FunctionType, what: str, digest: str | None, link: Callable[[], Any], at_once: bool = False
    ) -> None:
        self.python = python
        self.compiled: Any = None
        self.seconds = 0.0
        """What compiling took, or loading what was compiled before."""
        self._what, self._digest, self._link = what, digest, link
        self._rows, self._at_once = 0, at_once
        self.patience = 1
        """How many times as many rows as others it must see."""
        self._refused = False
        self._lock = threading.Lock()

    def expects(self, rows: int) -> bool:
        """Count a call with so many more rows, and say whether with them it is worth compiling."""
        self._rows += rows + CALL_ROWS
        if self._refused or is_disabled():
            return False
        enough = self._rows >= COMPILE_ROWS * self.patience
        return self._at_once or enough or (self._rows >= LOAD_ROWS and self.on_disk)

    def due(self, rows: int, arguments: Arguments) -> Any:
        """The compiled function, if with so many more rows it is worth it; else None."""
        if not self.expects(rows):
            return None
        try:
            return self.compile(arguments)
        except NotCompilable:  # though its types could be inferred: it runs as Python
            self._refused = True
            return None

    @property
    def on_disk(self) -> bool:
        """Whether it has been compiled before, on this machine."""
        return self._digest is not None and is_on_disk(self._digest)

    def compile(self, arguments: Arguments) -> Any:
        """Compile for arguments like these now."""
        from sash.kernels.compile import compile_for

        with self._lock:
            if self.compiled is None:
                compiled = self._link()
                with _Notice(self._what, quiet=self.on_disk) as notice:
                    compile_for(compiled, arguments)
                self.seconds += notice.seconds
                self.compiled = compiled
            return self.compiled


class Source(NamedTuple):
    """A text of kernels, and all that it depends on."""

    functions: Mapping[str, Callable[..., Any]]
    """Those that it calls, by name."""
    text: str
    signature: str = ""
    """Distinguishes kernels of one text, such as by the types of arguments."""
    what: str = ""
    """The name shown to users when it is compiled."""
    at_once: bool = False
    """Whether Python's numbers would not do, so that it is compiled whatever the rows."""
    shortcuts: Mapping[str, str] = {}
    """Names that in Python may stand for others, of which they only fix the types."""


class Kernels:
    """The kernels of one text, all in both tiers."""

    def __init__(self, source: Source, digest: str | None) -> None:
        self._source, self._digest = source, digest
        functions = source.functions
        self._python_numbers = is_builtin(functions.values())
        self._lock = threading.RLock()
        self._module: ModuleType | None = None
        names: dict[str, Any] = {
            "np": np,
            "u64": int,
            "ZERO": 0,
            "ONE": 1,
            "part": _same,
            "prefetch": prefetch,
            **functions,
        }
        entries: list[str] = []

        def enter(function: FunctionType) -> FunctionType:
            entries.append(function.__name__)
            return function

        names["kernel"] = enter
        exec(compile(source.text, "<kernels as Python>", "exec"), names)  # nosec  # our own text
        if self._python_numbers:
            names.update({name: names[other] for name, other in source.shortcuts.items()})
        self.kernels = {name: self._kernel(names[name]) for name in entries}

    def _kernel(self, python: FunctionType) -> Kernel:
        name = python.__name__
        digest = None if self._digest is None else f"{self._digest}-{name}"
        return Kernel(python, self._source.what, digest, lambda: self._entry(name), self._source.at_once)

    @property
    def is_kept(self) -> bool:
        """Whether what is compiled is kept on disk."""
        return self._digest is not None

    @property
    def seconds(self) -> float:
        """What compiling took so far."""
        return sum(kernel.seconds for kernel in self.kernels.values())

    def run(self, name: str, rows: int, inputs: Arguments, outputs: Arguments) -> Any:
        """What a kernel returns, after it has filled the outputs."""
        kernel = self.kernels[name]
        compiled = kernel.compiled or kernel.due(rows, (*inputs, *outputs))
        if compiled is not None:
            return compiled(*inputs, *outputs)
        try:
            return self._run_python(kernel.python, inputs, outputs)
        except Exception:
            # Users' functions raise whatever they like, and Python raises where machine code does not: it divides by no
            # zero, and a number of over 64 bits is an OverflowError. What compiled code does is right in all cases.
            if is_disabled():
                raise
            return self.compile(name, (*inputs, *outputs))(*inputs, *outputs)

    def compile(self, name: str, arguments: Arguments) -> Any:
        """A kernel, compiled now; :class:`NotCompilable` if it cannot be."""
        return self.kernels[name].compile(arguments)

    def _run_python(self, python: FunctionType, inputs: Arguments, outputs: Arguments) -> Any:
        """Run on copies: outputs stay as they were if it fails, also by a number that is too large for them."""
        copies = tuple(map(self._lend, outputs))
        with np.errstate(all="ignore"):
            result = python(*map(self._lend, inputs), *copies)
            filled = list(zip(_arrays(outputs), _arrays(copies), strict=True))
            for output, array in [(output, copy.astype(output.dtype, copy=False)) for output, copy in filled]:
                output[:] = array
        return result

    def _lend(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(map(self._lend, argument))
        if not isinstance(argument, np.ndarray):
            return argument
        if self._python_numbers or argument.dtype.kind == "b":
            return argument.astype(object)
        return argument.astype(np.int64 if argument.dtype.kind in "iu" else argument.dtype)

    def module(self) -> ModuleType:
        """The kernels to be compiled, as a module in which Numba finds them again when it loads one."""
        from sash.kernels import compile as compiler

        with self._lock:
            if self._module is None:
                module = ModuleType(f"sash_kernels_{self._digest or id(self)}")
                sys.modules[module.__name__] = module
                numbers = {"np": np, "u64": np.uint64, "ZERO": np.uint64(0), "ONE": np.uint64(1)}
                linked = {name: compiler.jitted(function) for name, function in self._source.functions.items()}
                vars(module).update(numbers, **linked, prefetch=compiler.prefetch)
                vars(module).update(part=compiler.inner, kernel=compiler.inner)
                text = compile(self._source.text, f"<{module.__name__}>", "exec")
                exec(text, vars(module))  # nosec  # our own text
                self._module = module
            return self._module

    def _entry(self, name: str) -> Any:
        """A kernel to be called from Python; kernels that call it have their own, which is less to compile."""
        from sash.kernels.compile import dispatcher

        function = getattr(self.module(), name).py_func
        return dispatcher(function, None if self._digest is None else f"{self._digest}-{name}")

    def close(self) -> None:
        """Forget what is compiled."""
        if self._module is not None:
            sys.modules.pop(self._module.__name__, None)


def _same(function: Any) -> Any:
    return function


def prefetch(array: Array, place: Any) -> None:
    """Have the cache fetch what is at a place of an array, or behind its end; Python leaves that out."""


def _arrays(arguments: Any) -> Iterator[Array]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _arrays(argument)
        elif isinstance(argument, np.ndarray):
            yield argument


_kernels: OrderedDict[Any, Kernels] = OrderedDict()
_kernels_lock = threading.Lock()


def kernels_of(source: Source) -> Kernels:
    """The kernels of a text; shared by all that ask for the same."""
    functions = source.functions
    digest = digest_of(source.text, source.signature, *functions, *functions.values())
    key = digest or (source.text, source.signature, *functions.values())
    with _kernels_lock:
        kernels = _kernels.pop(key, None) or Kernels(source, digest)
        _kernels[key] = kernels
        if len(_kernels) > MOST_KERNELS:
            _kernels.popitem(last=False)[1].close()
    return kernels


class _Pass:
    """A function that goes over arrays, in both tiers, for each set of types apart.

    ``vectorised`` does the same by NumPy, until it is compiled.
    """

    def __init__(self, python: FunctionType, vectorised: Callable[..., Any] | None = None) -> None:
        update_wrapper(self, python)
        self._python = python
        self._interpreted = vectorised or python
        self._patience = 1 if vectorised is None else _VECTORISED
        self._kernels: dict[Any, Kernel] = {}

    def __call__(self, *arguments: Any) -> Any:
        form = tuple([argument.dtype if hasattr(argument, "dtype") else type(argument) for argument in arguments])
        kernel = self._kernels.get(form) or self._kernel(form)
        compiled = kernel.compiled or kernel.due(max(map(_length, arguments)), arguments)
        if compiled is not None:
            return compiled(*arguments)
        with np.errstate(all="ignore"):
            return self._interpreted(*arguments)

    def _kernel(self, form: Any) -> Kernel:
        name = self._python.__name__
        digest = f"{digest_of(self._python, str(form))}-{name}"
        kernel = Kernel(self._python, f"{name} over rows", digest, lambda: self._link(digest))
        kernel.patience = self._patience
        return self._kernels.setdefault(form, kernel)

    def _link(self, digest: str) -> Any:
        from sash.kernels import compile as compiler

        python = self._python
        names = {**python.__globals__, "prefetch": compiler.prefetch}
        return compiler.dispatcher(FunctionType(python.__code__, names, python.__name__), digest)


def one_pass(function: _Function) -> _Function:
    """Have a function of arrays and numbers run in both tiers."""
    return cast(_Function, _Pass(cast(FunctionType, function)))


def one_pass_after(vectorised: Callable[..., Any]) -> Callable[[Callable[..., Any]], _Pass]:
    """The same with ``vectorised``, which does the same by NumPy, as the first tier."""
    return lambda function: _Pass(cast(FunctionType, function), vectorised)


def _length(argument: Any) -> int:
    return len(argument) if isinstance(argument, np.ndarray) else 0


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Compile whatever runs meanwhile."""
    global COMPILE_ROWS
    before, COMPILE_ROWS = COMPILE_ROWS, 0
    try:
        yield
    finally:
        COMPILE_ROWS = before


def worth_compiling(rows: int) -> bool:
    """Whether kernels are compiled at once for so many rows."""
    return rows >= COMPILE_ROWS and not is_disabled()


def is_disabled() -> bool:
    """Whether nothing may be compiled."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class _Notice:
    """Tells what is compiled: a logger always, a terminal when it has taken a while."""

    _logger = logging.getLogger("sash")
    _spent = 0.0
    _told: ClassVar[set[str]] = set()
    _patience = 0.5

    def __init__(self, what: str, quiet: bool) -> None:
        self._what, self._quiet = what, quiet
        self.seconds = 0.0

    def __enter__(self) -> _Notice:
        if not self._quiet and self._what not in self._told:
            self._logger.info("compiling %s, once on this machine", self._what)
            if _Notice._spent > self._patience and sys.stderr is not None and sys.stderr.isatty():
                print(f"sash: compiling {self._what}, once on this machine", file=sys.stderr)
                self._told.add(self._what)
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin
        _Notice._spent += self.seconds * (not self._quiet)
