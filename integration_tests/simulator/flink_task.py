"""A task of Flink's Python operator: bundles, watermarks that wait for them, timers, and PyFlink's own state backend.

As ``AbstractPythonFunctionOperator`` does it: a watermark that comes while a bundle is open waits until it is done;
timers fire when a watermark is taken, and their bundle is finished before the watermark is done. Before a barrier the
bundle is finished, too.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from pyflink.common import Row
from pyflink.fn_execution.datastream.process.process_function import (
    InternalKeyedProcessFunctionContext,
    InternalKeyedProcessFunctionOnTimerContext,
)
from pyflink.fn_execution.datastream.process.runtime_context import StreamingRuntimeContext
from pyflink.fn_execution.datastream.process.timerservice_impl import (
    InternalTimerServiceImpl,
    TimerOperandType,
    TimerServiceImpl,
)
from pyflink.fn_execution.state_impl import RemoteKeyedStateBackend

from .world import World

__all__ = ["END", "NEVER", "GroupedState", "Task"]

NEVER, END = -(2**63), 2**63 - 1
GroupedState = dict[bytes, tuple[list[bytes], set[int]]]
"""By key, the elements of its list, and its timers."""


class _KeyCoder:
    """Keys as bytes."""

    def get_impl(self) -> _KeyCoder:
        return self

    def encode(self, key: Any) -> bytes:
        return pickle.dumps(_plain(key))


def _plain(key: Any) -> Any:
    return tuple(map(_plain, key)) if isinstance(key, Row) else key


class _Store:
    """What the JVM keeps of the state of keys, as Beam's state handler reads and writes it."""

    def __init__(self, world: World, lists: dict[bytes, list[bytes]]) -> None:
        self.world, self.lists = world, lists
        self._state_cache = self._context = None  # which states of maps would need
        self._underlying = self

    def blocking_get(self, state_key: Any, coder: Any) -> Iterable[Any]:
        self.world.call("read")
        return [coder.decode_nested(element) for element in self.lists.get(state_key.bag_user_state.key, ())]

    def extend(self, state_key: Any, coder: Any, elements: Iterable[Any]) -> None:
        encoded = [coder.encode_nested(element) for element in elements]
        self.world.call("append")
        self.lists.setdefault(state_key.bag_user_state.key, []).extend(encoded)

    def clear(self, state_key: Any) -> None:
        self.world.call("clear")
        self.lists.pop(state_key.bag_user_state.key, None)


class _Timers(InternalTimerServiceImpl):  # type: ignore[misc]  # PyFlink has no types
    """PyFlink's, which tells the task about timers instead of the JVM."""

    def __init__(self, backend: Any, task: Task) -> None:
        super().__init__(backend)
        self._task = task

    def current_processing_time(self) -> int:
        return self._task.clock

    def _set_timer(self, timer_operation_type: Any, ts: int, key: Any, namespace: Any) -> None:
        self._task.world.call("timer")
        self._task.asked.append((timer_operation_type, ts, key))


class Task:
    """A task with a part of the state. ``bundle`` is the most elements in one."""

    def __init__(self, world: World, function: Any, state: GroupedState, parallelism: int, index: int) -> None:
        self.world, self.function = world, function
        self.lists = {key: list(elements) for key, (elements, _) in state.items() if elements}
        self.timers = {key: set(timers) for key, (_, timers) in state.items() if timers}
        self.asked: list[tuple[Any, int, Any]] = []
        self.watermark, self.clock = NEVER, 0
        self.waiting: int | None = None
        self.count, self.bundle = 0, world.chance.choice([1, 3, 10, 1000])
        self.results: list[Any] = []
        coder = _KeyCoder()
        self.backend = RemoteKeyedStateBackend(_Store(world, self.lists), coder, None, function.cache, 100, 100)
        self._internal = _Timers(self.backend, self)
        self._internal.advance_watermark(NEVER)
        service = TimerServiceImpl(self._internal)
        self._internal.set_namespace_serializer(None)
        self._context = InternalKeyedProcessFunctionContext(service)
        self._timer_context = InternalKeyedProcessFunctionOnTimerContext(service)
        of: Any = (
            "sash",
            f"sash ({index + 1}/{parallelism})",
            parallelism,
            128,
            index,
            0,
            {},
            None,
            self.backend,
            False,
        )
        function.open(StreamingRuntimeContext(*of))

    def take(self, key: Any, value: Any) -> None:
        """A record."""
        self._internal.advance_watermark(self.watermark)
        self._context.set_current_key(key)
        self.backend.set_current_key(Row(key))
        self._emit(self.function.process_element(value, self._context))

    def mark(self, watermark: int) -> None:
        """A watermark."""
        if watermark == END:
            self.finish_bundle()
            self._advance(watermark)
        elif self.count == 0:
            self._advance(watermark)
        else:
            self.waiting = watermark

    def finish_bundle(self) -> None:
        """End the bundle: what Python keeps of state is written, what it asked for happens."""
        if self.count == 0:
            return
        self.backend.commit()
        self.count = 0
        self._set_timers()
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            self._advance(waiting)

    def close(self) -> None:
        """The task ends."""
        self.function.close()

    def state(self) -> GroupedState:
        """What a checkpoint has of this task. Its bundle is done."""
        keys = self.lists.keys() | self.timers.keys()
        return {key: (list(self.lists.get(key, ())), set(self.timers.get(key, ()))) for key in keys}

    def _emit(self, results: Iterable[Any]) -> None:
        self.results += results
        self.count += 1
        if self.count >= self.bundle:
            self.finish_bundle()
        elif self.world.often(0.2):
            self._set_timers()  # the JVM reads them when it does

    def _set_timers(self) -> None:
        for kind, at, key in self.asked:
            encoded = pickle.dumps(_plain(key))
            if kind == TimerOperandType.REGISTER_EVENT_TIMER:
                self.timers.setdefault(encoded, set()).add(at)
            elif kind == TimerOperandType.DELETE_EVENT_TIMER:
                self.timers.get(encoded, set()).discard(at)
            else:
                raise NotImplementedError("timers of processing time are not simulated")
        self.asked = []

    def _advance(self, watermark: int) -> None:
        self.watermark = max(self.watermark, watermark)
        while due := sorted(self._due()):
            for at, encoded in due:
                if at in self.timers.get(encoded, ()):  # else one that fired before has deleted it
                    self._fire(at, encoded)
            while self.count:
                self.finish_bundle()

    def _due(self) -> Iterator[tuple[int, bytes]]:
        return ((at, key) for key, timers in self.timers.items() for at in timers if at <= self.watermark)

    def _fire(self, at: int, encoded: bytes) -> None:
        self.timers[encoded].discard(at)
        (key,) = pickle.loads(encoded)
        key = Row(*key) if isinstance(key, tuple) else key
        self._internal.advance_watermark(self.watermark)
        self.backend.set_current_key(Row(key))
        self._timer_context.set_timestamp(at)
        self._timer_context.set_current_key(key)
        self._emit(self.function.on_timer(at, self._timer_context))
