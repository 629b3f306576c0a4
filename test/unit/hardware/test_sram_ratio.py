"""The SRAM ratio: the smallest cache within 5 % of our time, over all our bytes on chip."""

from __future__ import annotations

import pytest

from tapeflow.errors import TapeflowError
from tapeflow.hardware import Hardware
from tapeflow.hardware.sram_ratio import baseline_caches, sram_ratio

OURS, BASELINE = Hardware.preset("stream-1k"), Hardware.preset("cache-32k")
CACHES = baseline_caches(BASELINE)


def ratio_of(times: dict[int, int], our_cycles: int, ours: Hardware = OURS):
    """The ratio where a cache of so many bytes takes so many cycles."""
    asked: list[int] = []

    def cycles(cache: Hardware) -> int:
        asked.append(cache.sram_bytes)
        return times[cache.sram_bytes]

    caches = [cache for cache in CACHES if cache.sram_bytes in times]
    return sram_ratio(ours, our_cycles, caches[::-1], cycles), asked


def test_baselines_are_of_every_size_and_equal_in_all_else():
    assert [cache.sram_bytes for cache in CACHES] == [1 << log for log in range(10, 19)]
    for cache in CACHES:
        assert [what for what in OURS.differences(cache) if not what.startswith("SRAM bytes")] == []
        assert cache.cache and BASELINE.cache and cache.cache.mshrs == BASELINE.cache.mshrs
    same = next(cache for cache in CACHES if cache.sram_bytes == 32768)
    assert same.cache == BASELINE.cache


def test_the_smallest_that_is_within_five_per_cent_counts():
    found, asked = ratio_of({1024: 2000, 4096: 1051, 8192: 1050, 16384: 900}, 1000)
    assert (found.cache, found.bytes, found.ratio, str(found)) == ("cache-32k, 8192 B", 8192, 4.0, "4")
    assert asked == [1024, 4096, 8192]  # from the smallest up, and no further


def test_all_our_bytes_count_and_a_smaller_cache_that_is_as_fast_is_a_loss():
    assert OURS.scratchpad and OURS.cache
    assert OURS.sram_bytes == OURS.scratchpad.size_bytes + OURS.cache.size_bytes == 2048
    assert ratio_of({1024: 1000, 2048: 900}, 1000)[0].ratio == 0.5
    with_second = OURS.with_(second_cache={"size_bytes": 8192, "ways": 8})
    assert ratio_of({1024: 1000}, 1000, with_second)[0].ratio == 1024 / (2048 + 8192)


def test_none_fast_enough_is_said():
    found, _ = ratio_of({1024: 2000, 32768: 1060}, 1000)
    assert (found.cache, found.bytes, str(found)) == (None, 32768, "over 16")


def test_unequal_machines_are_refused():
    unequal = [BASELINE.with_(name="wide", units={"fp_mul": 8})]
    with pytest.raises(TapeflowError, match=r"wide cannot be compared with stream-1k: units\.fp_mul: 2 against 8"):
        sram_ratio(OURS, 1000, unequal, lambda _: 1)
    for machine, lacks in ((OURS, "a scratchpad"), (BASELINE.with_(cache=None), "no cache")):
        with pytest.raises(TapeflowError, match=f"is no baseline: it has {lacks}"):
            baseline_caches(machine)
