"""Machines: presets, files, changes, and what is wrong with a wrong one."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tapeflow.errors import TapeflowError
from tapeflow.hardware import Cache, Hardware
from tapeflow.hardware.fields import field_texts, flat_fields
from tapeflow.hardware.machine import machine_constants
from tapeflow.options import Options


@pytest.mark.parametrize("name", Hardware.presets())
def test_every_preset_is_a_machine_with_a_pipeline(name: str):
    machine = Hardware.preset(name)
    assert machine.name == name and machine.description.endswith(".")
    options = Options.model_validate(machine.pipeline.model_dump())
    assert options.stream == (machine.scratchpad is not None)
    constants = machine_constants(machine)
    assert all(f"#define {macro} {value}\n" in machine.machine_header() for macro, value in constants.items())


def test_presets_that_are_compared_differ_in_sram_only():
    ours = Hardware.preset("stream-1k")
    assert ours.differences(Hardware.preset("cache-32k")) == ["SRAM bytes: 2048 against 32768"]
    assert ours.differences(Hardware.preset("cache-2k")) == []
    assert ours.differences(Hardware.preset("cache-2k-aos")) == []
    assert Hardware.preset("stream-4k").differences(Hardware.preset("cache-8k")) == []
    two_levels = Hardware.preset("stream-1k-second-32k")
    assert two_levels.differences(Hardware.preset("cache-2k-second-32k")) == []
    for name in Hardware.presets():
        if name not in ("artifact-2024", "stream-4k-hbm"):
            unequal = ours.differences(Hardware.preset(name))
            assert all(what.startswith("SRAM bytes: ") for what in unequal), (name, unequal)


def test_the_presets_have_every_kind_of_baseline():
    assert {"cache-32k", "cache-4k-prefetch", "stream-1k", "stream-4k-hbm", "artifact-2024"} <= set(Hardware.presets())
    machines = [Hardware.preset(name) for name in Hardware.presets()]
    assert any(machine.second_cache for machine in machines)
    caches = [machine.cache for machine in machines if machine.cache and not machine.scratchpad]
    assert any(cache.streaming_buffers for cache in caches) and any(cache.prefetch_lines for cache in caches)
    assert [machine.name for machine in machines if machine.cache and machine.cache.blocking] == ["artifact-2024"]
    # Each streamed machine has a cache of as much SRAM beside it that is equal in all else.
    for machine in machines:
        if machine.scratchpad and machine.dram.part == "DDR4-2400":
            others = (other for other in machines if not other.scratchpad)
            assert any(not machine.differences(other) for other in others), machine.name


def test_differences_name_units_dram_and_requests():
    ours = Hardware.preset("stream-1k")
    other = ours.with_(units={"fp_mul": 4}, dram={"part": "HBM2"}, cache={"mshrs": 32})
    assert ours.differences(other) == [
        "outstanding requests: 16 against 40",
        "units.fp_mul: 2 against 4",
        "dram.part: DDR4-2400 against HBM2",
    ]


def test_with_changes_fields_of_parts_and_removes_parts():
    machine = Hardware.preset("stream-1k")
    changed = machine.with_(name="mine", cache={"mshrs": 4}, clock_ghz=0.5)
    assert changed.cache and changed.cache.mshrs == 4 and changed.cache.ways == 2
    assert (changed.name, changed.clock_ghz) == ("mine", 0.5)
    assert machine.with_(cache=None).cache is None
    assert machine.with_(cache=Cache(size_bytes=2048, ways=2)).sram_bytes == 3072


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"cache": {"size_bytes": 3000}}, "cache: the cache's size_bytes is 3000, which is not a power of two"),
    ({"cache": {"ways": 3}}, "cache: 3 ways do not divide the 16 lines of a cache of 1024 bytes"),
    ({"cache": {"size_bytes": 32}}, "cache: a cache of 32 bytes holds no line of 64"),
    ({"second_cache": {"size_bytes": 3000}}, "second_cache: the second cache's size_bytes is 3000, which is not a"),
    ({"second_cache": {"size_bytes": 512, "ways": 2}}, "a second cache needs a first one, which is not larger"),
    ({"cache": None, "second_cache": {"size_bytes": 8192}}, "a second cache needs a first one"),
    (
        {"second_cache": {"size_bytes": 262144, "hit_cycles": 1}},
        "an access of the second cache takes",
    ),
    ({"cache": {"mshrs": 0}}, "cache.mshrs: Input should be greater than or equal to 1"),
    (
        {"cache": {"associativity": 2}},
        "cache.associativity: no such field; there are: size_bytes, ways, hit",
    ),
    ({"cache": {"mshr": 2}}, "cache.mshr: no such field; did you mean 'mshrs'?"),
    ({"cach": {"ways": 2}}, "cach: no such field; did you mean 'cache'?"),
    ({"second_cache": {"size_bytes": 8192, "way": 2}}, "second_cache.way: no such field; did you mean 'ways'?"),
    (
        {"second_cache": {"size_bytes": 8192, "ways": 3}},
        "3 ways do not divide the 128 lines of a second cache",
    ),
    ({"scratchpad": {"banks": 3}}, "scratchpad: the scratchpad's banks is 3, which is not a power of two"),
    ({"scratchpad": {"ports": 2}}, "scratchpad: 2 ports and the DMA engine need more than 2 banks"),
    ({"scratchpad": {"banks": 64, "port_bytes": 64}}, "scratchpad: 64 banks of 64-byte words are more than 1024 bytes"),
    ({"scratchpad": {"size_bytes": 1000}}, "the scratchpad's size_bytes is 1000, which is not a power of two"),
    ({"pipeline": {"spad_bytes": 4096}}, "the pipeline's tiles need 4096 bytes of scratchpad, the machine has 1024"),
    ({"scratchpad": None}, "the pipeline's tiles need 1024 bytes of scratchpad, the machine has 0"),
    ({"dram": {"part": "DDR9"}}, "dram: dram-timing.csv has no part 'DDR9'; it has: DDR4-2400, HBM2, LPDDR4-2400"),
    (
        {"units": {"latency": {"fp_add": 1}}},
        "units: latency: functional-units.csv has no op 'fp_add'; it has: fp_add32",
    ),
    ({"units": {"latency": {"fp_add64": 0}}}, "units: latency: fp_add64 takes 0 cycles, not 1 to 4096"),
    ({"array_skew_bytes": 100}, "array_skew_bytes is 100, not a multiple of 64"),
    (
        {"cache": {"size_bytes": 4096, "ways": 8}},
        "sram-cacti7.csv has c8w_par8, 0.045 um, itrs-lop, 360 K from 8 to 2048 KiB, not 4 KiB; another number of ways",
    ),
    (
        {"cache": {"size_bytes": 32768, "access": "sequential", "hit_cycles": 1}},
        "an access of the cache takes 1.47 ns, longer than 1 cycles at 1 GHz",
    ),
    (
        {"energy": {"node_um": 0.007}},
        "energy: sram-cacti7.csv has no 0.007 um at 360 K; it has: 0.045 um at 360 K, 0.045 um at 300 K",
    ),
    (
        {"energy": {"node_um": 0.032}},
        "energy: sram-cacti7.csv has no itrs-lop of 0.032 um at 360 K; it has: itrs-hp",
    ),
    # Nobody's node, though there is no array whose row would be missed.
    (
        {"energy": {"node_um": 45}, "cache": None, "scratchpad": None, "pipeline": {"stream": False, "spad_bytes": 0}},
        "energy: sram-cacti7.csv has no 45 um at 360 K",
    ),
    # What would overflow the model's integers: such a latency once came out as a fast machine.
    ({"dram": {"timing": "fixed", "fixed_latency_ns": 1e300}}, "dram.fixed_latency_ns: Input should be less than"),
    ({"dma": {"start_cycles": 10**20}}, "dma.start_cycles: Input should be less than or equal to 4096"),
    ({"dma": {"setup_cycles": 10**20}}, "dma.setup_cycles: Input should be less than or equal to 4096"),
    ({"dma": {"descriptor_pj": float("inf")}}, "dma.descriptor_pj: Input should be less than or equal to 1000000"),
    ({"cache": {"hit_cycles": 10**20}}, "cache.hit_cycles: Input should be less than or equal to 4096"),
    ({"cache": {"ports": 10**12}}, "cache.ports: Input should be less than or equal to 256"),
    ({"scratchpad": {"access_cycles": 10**20}}, "scratchpad.access_cycles: Input should be less than or equal to 4096"),
    ({"units": {"fp_add": 10**12}}, "units.fp_add: Input should be less than or equal to 256"),
    ({"units": {"latency": {"fp_add64": 10**20}}}, f"latency: fp_add64 takes {10**20} cycles, not 1 to 4096"),
    ({"array_skew_bytes": 64 * 10**20}, "array_skew_bytes: Input should be less than or equal to 1073741824"),
    # Python takes True for 1, and so would a file with `mshrs: yes`.
    ({"cache": {"mshrs": True}}, "cache.mshrs: Input is true, not a number"),
    ({"clock_ghz": True}, "clock_ghz: Input is true, not a number"),
    ({"units": {"latency": {"fp_add64": True}}}, "units.latency.fp_add64: Input should be a valid integer"),
    ({"name": " "}, "the name ' ' is not a line of printable text"),
    ({"name": "two\nlines"}, r"the name 'two\nlines' is not a line of printable text"),
    ({"name": "\udc80"}, r"the name '\udc80' is not a line of printable text"),
    ({"description": "\x1b[2J"}, r"the description '\x1b[2J' has unprintable characters"),
    ({"clock_ghz": 1e-300}, "clock_ghz: Input should be greater than or equal to 0.001"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_wrong_machines_say_what_is_wrong(changes: dict[str, Any], message: str):
    with pytest.raises(TapeflowError) as error:
        Hardware.preset("stream-1k").with_(**changes)
    assert message in str(error.value)
    assert str(error.value).startswith("error: stream-1k: ")


def test_all_wrong_fields_are_named_at_once():
    with pytest.raises(TapeflowError, match=r"clock_ghz: .*; cache\.ways: "):
        Hardware.preset("stream-1k").with_(cache={"ways": 0}, clock_ghz=0)


def test_the_constructor_raises_pydantics_own_error():
    with pytest.raises(ValidationError, match="not a power of two"):
        Cache(size_bytes=1000)


def test_unknown_preset_lists_those_there_are():
    with pytest.raises(TapeflowError, match="no hardware preset 'cache-64k'") as error:
        Hardware.preset("cache-64k")
    assert "cache-32k" in str(error.value) and "stream-1k" in str(error.value)


def test_files(tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text("cache: {size_bytes: 2048, ways: 2}\n")
    assert Hardware.from_yaml(file).name == "mine"
    for text, message in {
        "cache: {size_bytes: 100}": "mine.yaml: cache: the cache's size_bytes is 100",
        "just text": "mine.yaml describes no machine\n",
        "": "mine.yaml describes no machine\n",
        "- clock_ghz: 1": "mine.yaml describes no machine\n",
        "cache: [": "is not YAML",
        "clock_ghz: 1\nclock_ghz: 2": "'clock_ghz' is given twice",
        "cache: {size_bytes: 2048, ways: 2, ways: 4}": "'ways' is given twice",
        "name: 2026-13-01": "is not YAML: month must be in",
        "cache: {blocking: !!bool maybe}": "is not YAML: 'maybe'",
        f"clock_ghz: {'1' * 5000}": "is not YAML: Exceeds the limit",
        "[" * 2000: "mine.yaml is nested too deeply",
        "clock_ghz: 1 # \xff": "mine.yaml is no text in UTF-8: invalid start byte",
    }.items():
        file.write_text(text, encoding="latin-1")
        with pytest.raises(TapeflowError, match=message):
            Hardware.from_yaml(file)
    with pytest.raises(TapeflowError, match="cannot read the hardware file"):
        Hardware.from_yaml(tmp_path / "none.yaml")


def test_every_field_says_what_it_is_its_unit_and_its_source():
    texts = field_texts()
    assert set(flat_fields(Hardware.preset("stream-1k"))) <= set(texts)
    for name, text in texts.items():
        is_part = any(other.startswith(f"{name}.") for other in texts)
        assert text.description.endswith("."), name
        assert bool(text.unit) == bool(text.source) == (not is_part), name
    units = {text.unit for text in texts.values()}
    assert {"bytes", "cycles", "lines", "ns", "pJ", "GHz", "um", "K"} <= units
    tables_named = set(re.findall(r"[a-z0-9-]+\.csv", " ".join(text.source for text in texts.values())))
    assert all((resources.files("tapeflow.hardware") / "data" / table).is_file() for table in tables_named)
    # What a name says of its unit is so.
    for suffix, unit in {"_bytes": "bytes", "_cycles": "cycles", "_ns": "ns", "_pj": "pJ", "_ghz": "GHz"}.items():
        assert all(text.unit == unit for name, text in texts.items() if name.endswith(suffix))


def test_every_field_and_preset_is_in_the_manual():
    manual = (Path(__file__).parents[3] / "docs" / "hardware.md").read_text()
    for name, text in field_texts().items():
        inner = name.rpartition(".")[2]
        rows = [line for line in manual.splitlines() if line.startswith(f"| `{inner}` | ")]
        wanted = f" | {text.unit or 'part'} | {text.description} | {text.source or 'see below'} |"
        assert any(row.endswith(wanted) for row in rows), f"docs/hardware.md: {name} needs{wanted}"
    for name in Hardware.presets():
        assert f"| `{name}` | {Hardware.preset(name).description} |" in manual


def test_every_check_that_the_manual_names_is_a_test():
    root = Path(__file__).parents[3]
    manual = (root / "docs" / "model.md").read_text()
    table = manual[manual.index("## What it is checked against") :]
    named = re.findall(r"`((?:hardware/)?test_\w+\.py)(?:::(\w+))?`", table)
    assert len(named) > 25
    for file, test in named:
        text = (root / "test" / "unit" / file).read_text()
        assert not test or f"def {test}(" in text, f"docs/model.md names {file}::{test}"
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    assert {row for row in rows if row.isdigit()} == set("1234567")


def test_latencies_scale_with_the_clock_and_round_up():
    machine = Hardware.preset("cache-32k")
    assert (machine.latency("fp_add64"), machine.latency("fp_div64"), machine.interval("fp_div64")) == (5, 16, 16)
    slow = machine.with_(clock_ghz=0.3)
    assert (slow.latency("fp_add64"), slow.latency("fp_div64"), slow.interval("fp_add64")) == (2, 5, 1)
    artifact = Hardware.preset("artifact-2024")
    assert (artifact.latency("fp_add64"), artifact.latency("fp_mul64"), artifact.latency("int_add32")) == (5, 4, 1)
    with pytest.raises(TapeflowError, match="no op 'fp_tan'"):
        machine.latency("fp_tan")
