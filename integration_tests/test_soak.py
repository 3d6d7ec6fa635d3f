"""``make soak`` at a small scale: memory is flat, the state is as computed, and what is not is found."""

from __future__ import annotations

from dataclasses import replace

from .soak import as_markdown, faults, run

ROWS, KEYS = 300_000, 3_000


def test_a_short_day() -> None:
    samples = list(run(ROWS, KEYS, size=3_000, samples=8, seed=2))
    assert len(samples) >= 8
    assert samples[-1].results > ROWS
    assert [fault for fault in faults(samples) if not fault.startswith("memory")] == []
    assert f"{samples[-1].slices:,}" in as_markdown(samples, KEYS)


def test_what_is_wrong_is_found() -> None:
    samples = list(run(ROWS // 3, KEYS, size=3_000, samples=8, seed=2))
    *others, last = samples
    assert any("memory grows" in fault for fault in faults([*others, replace(last, rss_mb=9 * last.rss_mb)]))
    assert any("slices" in fault for fault in faults([*others, replace(last, slices=2 * last.slices)]))
    assert any("MB of state" in fault for fault in faults([*others, replace(last, state_mb=9 * last.state_mb + 9)]))
