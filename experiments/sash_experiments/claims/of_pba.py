"""The claims of the PBA paper."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import sash
from sash_experiments.claims.claim import (
    ENOUGH,
    Check,
    Claim,
    Unshown,
    Verdict,
    factor,
    held,
    line,
    ratio,
    sized,
    times,
)
from sash_experiments.compiled.rung import SPIKE
from sash_experiments.pba_latency import BY_CLOCK
from sash_experiments.raw import Results

__all__ = ["CLAIMS"]

LARGE = 2.0**15
ONE_LOCK = (
    "row by row, Python's lock lets one thread run at a time, and handing over a chunk costs more than merging it"
)
IN_TIME = "slowest slides in time"
OWN = "of the main thread's own time"


def _always_before(results: Results) -> Verdict:
    sba = line(results, "uniform", "SBA")
    others = [line(results, "uniform", name) for name in ("TwoStacks", "SlickDeque")]
    won = [x for x in sba if all(sba[x] > other[x] for other in others)]
    return Verdict(f"at {len(won)} of {len(sba)} sizes", len(won) == len(sba), "" if len(won) == len(sba) else _noise())


def _noise() -> str:
    return "the three are close in Python, where a call costs more than a merge"


def _second_thread(results: Results) -> Verdict:
    columns = " columns" if "PBA columns" in results.panel("uniform") else ""
    found = ratio(results, "uniform", f"PBA{columns}", f"SBA{columns}", LARGE)
    why = "lcs is so cheap beside reading the values that there is little to hand over"
    return sized(found, 1.05, "PBA is ahead", why, f"{times(found)}{columns and ' in compiled columns'}")


def _level(results: Results) -> Verdict:
    pba = line(results, "uniform", "PBA")
    if max(pba) <= LARGE:
        raise Unshown("windows are too small")
    growth, end = pba[LARGE] / pba[min(pba)], pba[max(pba)] / pba[LARGE]
    text = f"{times(growth)} from the smallest to 2^15, then {times(end)} to {max(pba):,.0f}"
    return held(text, growth > 1.2 and 0.7 < end < 1.4)


def _closer(results: Results) -> Verdict:
    spread = {}
    for slide in (1.0, 10.0):
        found = [line(results, "DEBS12", name).get(slide) for name in ("TwoStacks", "SlickDeque", "SBA", "PBA")]
        if None in found:
            raise Unshown("slides 1 and 10 are not both there")
        numbers = [number for number in found if number is not None]
        spread[slide] = max(numbers) / min(numbers)
    return Verdict(f"best over worst {times(spread[1])} → {times(spread[10])}", spread[10] < spread[1])


def _time_windows(results: Results) -> Verdict:
    panel = "range, minutes (slide 10 ms)"
    found = {name: ratio(results, panel, "SBA", name) for name in ("TwoStacks", "SlickDeque")}
    text = ", ".join(f"{times(value)} {name}" for name, value in found.items())
    return Verdict(text, min(found.values()) > 1, "" if min(found.values()) > 1 else _noise())


def _parallel_in_time(results: Results) -> Verdict:
    panel = "range, minutes (slide 10 ms)"
    found = {name: ratio(results, panel, "PBA", name) for name in ("TwoStacks", "SlickDeque", "SBA")}
    text = ", ".join(f"{times(value)} {name}" for name, value in found.items())
    return held(text, min(found.values()) > 1, ONE_LOCK)


def _longer(results: Results) -> Verdict:
    found = line(results, "DEBS12", "SBA")
    if max(found) < 5:
        raise Unshown("slides are too short")
    change = found[max(found)] / found[min(found)]
    return held(f"{times(change)} from slide {min(found):g} to {max(found):g}", change > 1.1)


def _best_columns(results: Results) -> Verdict:
    """Ours beside the fastest that takes rows: what a user of Python gains."""
    columns = line(results, "uniform", "SBA columns")
    rows = [line(results, "uniform", name) for name in ("TwoStacks", "SlickDeque", "SBA", "PBA")]
    gains = [columns[x] / max(each[x] for each in rows) for x in columns]
    return held(f"{times(min(gains))} to {times(max(gains))}", min(gains) > 4)


def _value(results: Results, panel: str, measure: str, name: str) -> float:
    found = results.panel(panel).get(name, {}).get(measure)
    if found is None:
        raise Unshown(f"there is no {measure} of {name} in {panel}")
    return found


def _by_both(results: Results, panel: str, text: Callable[[str], str]) -> str:
    """By the clock, which the paper measures and which decides; and of the main thread's own time, if it is there."""
    clock = text(f"{panel}{BY_CLOCK}")
    return f"{clock} ({text(panel)} {OWN})" if panel in results.panels else clock


def _slowest(results: Results, panel: str, name: str) -> float:
    """The slowest slide, in microseconds. Compiled it takes so short that what else the machine does is left out."""
    measure = SPIKE if SPIKE in results.panel(panel).get(name, {}) else "Max"
    return _value(results, panel, measure, name) / 1e3


def _main_thread(results: Results, panel: str) -> str:
    """The panel of the main thread's own time, or that of the clock, if it is measured by that alone."""
    return panel if panel in results.panels else f"{panel}{BY_CLOCK}"


def _micro(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _spike(panel: str) -> Check:
    def check(results: Results) -> Verdict:
        def text(where: str) -> str:
            pba, sba = (_micro(_slowest(results, where, name)) for name in ("PBA", "SBA"))
            return f"{pba} against {sba} µs"

        pba, sba = (_slowest(results, f"{panel}{BY_CLOCK}", name) for name in ("PBA", "SBA"))
        return sized(sba / pba, 2, "PBA's are lower", ONE_LOCK, _by_both(results, panel, text))

    return check


def _spikes_grow(results: Results) -> Verdict:
    small, large = (_slowest(results, _main_thread(results, panel), "TwoStacks") for panel in ("2^13", "2^14"))
    return Verdict(f"{_micro(small)} → {_micro(large)} µs", 1.4 < large / small < 3)


def _steadiest(panel: str) -> Check:
    def check(results: Results) -> Verdict:
        def deviations(where: str) -> dict[str, float]:
            return {name: _value(results, where, "Std", name) for name in ("TwoStacks", "SBA", "PBA")}

        def text(where: str) -> str:
            return ", ".join(f"{name} {value:,.0f}" for name, value in deviations(where).items()) + " ns"

        found = deviations(f"{panel}{BY_CLOCK}")
        return held(_by_both(results, panel, text), min(found, key=lambda name: found[name]) == "PBA", ONE_LOCK)

    return check


def _slick(results: Results) -> Verdict:
    """SlickDeque's slowest slides beside those of Two-Stacks: it has none that grow with the window."""
    slick, stacks = (_slowest(results, _main_thread(results, "2^14"), name) for name in ("SlickDeque", "TwoStacks"))
    why = "other work of the process is in the slowest slides, too"
    text = f"{_micro(slick)} against {_micro(stacks)} µs"
    return sized(stacks / slick, 2, "SlickDeque's are lower", why, text)


def _lower_than_slick(results: Results) -> Verdict:
    def averages(where: str) -> list[float]:
        return [_value(results, where, "Avg", name) for name in ("PBA", "SlickDeque")]

    def text(where: str) -> str:
        return "{:,.0f} against {:,.0f} ns".format(*averages(where))

    pba, slick = averages(f"2^14{BY_CLOCK}")
    return held(_by_both(results, "2^14", text), pba < slick, ONE_LOCK)


def _in_time(name: str) -> Check:
    """The slowest slides of an algorithm over PBA's, by the clock."""

    def check(results: Results) -> Verdict:
        compiled = "2^14" not in {panel.partition(":")[0] for panel in results.panels}
        highest = statistics.median if compiled else max  # compiled, what else the machine does is as slow as a spike

        def factor_in(where: str) -> float:
            slowest = [highest(line(results, f"{where}: {IN_TIME}", each).values()) for each in (name, "PBA")]
            return slowest[0] / slowest[1]

        clock = factor_in(f"2^14{BY_CLOCK}")
        text = times(clock) if compiled else f"{times(clock)} ({times(factor_in('2^14'))} {OWN})"
        return sized(clock, 2, "PBA's are lower", ONE_LOCK, text)

    return check


def _average(results: Results) -> Verdict:
    def factor_in(where: str) -> float:
        return _value(results, where, "Avg", "TwoStacks") / _value(results, where, "Avg", "PBA")

    text = _by_both(results, "1 h", lambda where: times(factor_in(where)))
    return sized(factor_in(f"1 h{BY_CLOCK}"), 2.06 * ENOUGH, "PBA's is lower", ONE_LOCK, text)


def _theorem(_: Results) -> Verdict:
    held = all(sash.optimal_chunk(n) == (n + 2) // 2 for n in range(2, 5000))
    return Verdict(f"for all n < 5,000; b* = {sash.optimal_chunk(2**20):,} at n = 2^20", held)


CLAIMS = [
    Claim(
        "pba-fig4",
        "From windows of 2^15 on, PBA's throughput is above Two-Stacks'",
        "2.5×",
        factor("uniform", "PBA", "TwoStacks", 2.5 * ENOUGH, LARGE, ONE_LOCK),
    ),
    Claim(
        "pba-fig4",
        "From windows of 2^15 on, PBA's throughput is above SlickDeque's",
        "4×",
        factor("uniform", "PBA", "SlickDeque", 4 * ENOUGH, LARGE, ONE_LOCK),
    ),
    Claim("pba-fig4", "SBA is faster than Two-Stacks and SlickDeque at every window size", "all sizes", _always_before),
    Claim("pba-fig4", "For large windows a second thread pays: PBA is faster than SBA", "yes", _second_thread),
    Claim(
        "pba-fig4", "PBA's throughput grows with the window up to 2^15 and is level beyond", "grows, then level", _level
    ),
    Claim("pba-fig4", "Beyond the paper: compiled columns over the fastest algorithm by rows", "–", _best_columns),
    Claim("pba-fig5", "Longer slides raise the throughput (SBA)", "higher", _longer),
    Claim("pba-fig5", "With longer slides the algorithms come closer to each other", "closer", _closer),
    Claim(
        "pba-fig6", "On windows on time, too, SBA is faster than Two-Stacks and SlickDeque", "all ranges", _time_windows
    ),
    Claim("pba-fig6", "On windows on time PBA has the best throughput of all", "best", _parallel_in_time),
    Claim(
        "pba-fig7",
        "Two-Stacks' spikes over PBA's, windows of 2^14",
        "280× (150 to 0.5 µs)",
        _in_time("TwoStacks"),
    ),
    Claim("pba-fig7", "SBA's spikes over PBA's, windows of 2^14", "58× (31 to 0.5 µs)", _in_time("SBA")),
    Claim(
        "pba-tab2",
        "SlickDeque has no spikes either: its slowest slide beside Two-Stacks', 2^14",
        "0.6 against 150 µs",
        _slick,
    ),
    Claim("pba-tab2", "PBA's average latency is below SlickDeque's, 2^14", "46 against 83 ns", _lower_than_slick),
    Claim(
        "pba-tab2",
        "PBA has no latency spikes where SBA has: its slowest slide, windows of 2^14",
        "0.5 against 31 µs",
        _spike("2^14"),
    ),
    Claim(
        "pba-tab2",
        "PBA's latency is the steadiest: standard deviation, windows of 2^14",
        "TwoStacks 1078, SBA 331, PBA 5 ns",
        _steadiest("2^14"),
    ),
    Claim(
        "pba-tab2", "Two-Stacks' spikes grow with the window: slowest slide, 2^13 → 2^14", "75 → 150 µs", _spikes_grow
    ),
    Claim(
        "pba-tab3",
        "On a moment sketch PBA's average latency is the lowest: Two-Stacks' over PBA's, 1 h",
        "2.1×",
        _average,
    ),
    Claim(
        "pba-tab3",
        "On a moment sketch PBA's latency is the steadiest: standard deviation, 2 h",
        "TwoStacks 10000, SBA 2472, PBA 65 ns",
        _steadiest("2 h"),
    ),
    Claim(
        "pba-fig4",
        "The optimal chunk of W[n, 1] is ⌊(n + 2) / 2⌋ (Section 4.4)",
        "524,289 at n = 2^20",
        _theorem,
        counted=True,
    ),
]
