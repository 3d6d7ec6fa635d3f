"""A stream from Kafka to Kafka on an engine, which is fed in parts and goes on whatever happens between them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import datetime, timedelta

from .kafka import Kafka
from .stream import POISON, START, expected, last, lines, moment_of, records
from .tail import Tail, Written
from .tally import Tally, tally

__all__ = ["Stage"]


class Stage(ABC):
    """A job that runs, and how far its stream has come."""

    name: str

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.source, self.sink, self.dead = (kafka.topic(f"{self.name}-{part}") for part in ("in", "out", "dead"))
        self.results, self.letters = Tail(kafka, self.sink), Tail(kafka, self.dead)
        self.steps = 0
        self.poisoned = 0

    def begin(self) -> None:
        """The first part of the stream, until there are results: the job is at work."""
        self.feed(20)
        self.wait_beyond(START)

    def feed(self, steps: int) -> None:
        """So many seconds more of the stream."""
        self.kafka.produce(self.source, records(self.steps, self.steps + steps))
        self.steps += steps

    @property
    def now(self) -> datetime:
        """How far the stream has come, in its own time."""
        return START + timedelta(seconds=self.steps)

    def poison(self) -> None:
        """Send what cannot be read."""
        self.kafka.produce(self.source, (("plug-1", text) for text in POISON))
        self.poisoned += 1

    def wait_beyond(self, moment: datetime) -> None:
        """Until there are results of windows that end after a moment of the stream."""
        seen = 0

        def found(written: list[Written]) -> bool:
            nonlocal seen
            new, seen = written[seen:], len(written)
            return any(moment_of(json.loads(each.value)) > moment for each in new)

        self.results.wait(f"{self.name}: results beyond {moment}", found)

    def wait_for_letters(self) -> None:
        """Until all that cannot be read is where it belongs."""
        wanted = len(POISON) * self.poisoned
        self.letters.wait(f"{self.name}: dead letters", lambda found: len(self.kept(found)) >= wanted)

    def end(self) -> Tally:
        """Close all windows, stop the job and count."""
        self.kafka.produce(self.source, last(self.steps))
        wanted = expected(self.steps)
        with suppress(TimeoutError):  # what is missing is what the tally is to tell
            self.results.wait("all results", lambda found: len(self.kept(found)) >= len(wanted))
            self.wait_for_letters()
        self.results.settle()
        self.letters.settle()
        self.stop()
        results = [json.loads(each.value) for each in self.kept(self.results.found)]
        letters = [each.value for each in self.kept(self.letters.found)]
        return tally(self.name, [*wanted, *POISON * self.poisoned], [*lines(results), *letters])

    @abstractmethod
    def kept(self, written: list[Written]) -> list[Written]:
        """What a reader has who knows how the job writes."""

    @abstractmethod
    def whole(self) -> None:
        """Wait until all parts of the cluster are back, so that another fault can come."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the job."""
