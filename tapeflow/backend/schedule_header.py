"""The generated schedule: for each line of printed C what the modelled machine must know of its time and energy.

```python
scheduled = schedule_printed(print_c(module), Hardware.preset("stream-1k"))
scheduled.header   # text of `<name>_schedule.h`: the table tf_lines
scheduled.mix      # line of a block -> operations it does, for energy
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tapeflow.analysis.schedule import NEVER_USED, Schedule, schedule_loop, schedule_straight
from tapeflow.backend.printed import PrintedBlock, PrintedC
from tapeflow.backend.schedule_graph import CACHE, CACHE_WRITES, SCRATCHPAD, BlockGraph, block_graph
from tapeflow.hardware import FunctionalUnits, Hardware

_UNITS = [name for name, field in FunctionalUnits.model_fields.items() if field.annotation is int]


@dataclass(frozen=True)
class PrintedSchedule:
    """The schedules of all blocks of a printed file, for one machine.

    Attributes:
        header: text of the C header with the table `tf_lines`; the file is compiled with TF_SCHEDULE naming it.
        mix: line of a `TF_STEP` or `TF_ARM` -> operation (a row of functional-units.csv) -> how many it does.
        blocks: line of a `TF_STEP` -> the schedule of its block, arms included.
    """

    header: str
    mix: Mapping[int, Mapping[str, int]]
    blocks: Mapping[int, Schedule]


def schedule_printed(printed: PrintedC, hardware: Hardware) -> PrintedSchedule:
    """Schedule every block of `printed` for the units and ports of `hardware`.

    Raises:
        TapeflowError: an operation for which no unit, or no energy, is known.
    """
    arms: defaultdict[int, list[PrintedBlock]] = defaultdict(list)
    by_line = {block.line: block for block in printed.blocks}
    for block in printed.blocks:
        if block.kind == "arm":
            arms[_scheduled_with(block, by_line)].append(block)
    units = _units(hardware)
    rows: dict[int, str] = {}
    mix: dict[int, Mapping[str, int]] = {}
    blocks: dict[int, Schedule] = {}
    for block in printed.blocks:
        if block.kind == "arm":
            rows[block.line] = "TF_LINE_ARM, 0, 0, 0, 0"
            continue
        graph = block_graph(block, arms[block.line], hardware)
        schedule = _schedule(block, graph, units)
        blocks[block.line] = schedule
        kind = "TF_LINE_LOOP" if block.kind == "loop" else "TF_LINE_SEGMENT"
        rows[block.line] = f"{kind}, {schedule.ii}, {schedule.depth}, 0, 0"
        rows |= _access_rows(graph, schedule)
        for one in (block, *arms[block.line]):
            mix[one.line] = dict(graph.mix[one.line])
    return PrintedSchedule(_header(printed, rows), mix, blocks)


def _scheduled_with(arm: PrintedBlock, by_line: Mapping[int, PrintedBlock]) -> int:
    """The line of the block that is no arm and has `arm` in it, however deep."""
    block = arm
    while block.kind == "arm" and block.parent is not None:
        block = by_line[block.parent]
    return block.line


def _units(hardware: Hardware) -> dict[str, int]:
    """Unit -> how many: functional units, and the ports of cache and scratchpad."""
    units = {name: hardware.units.count(name) for name in _UNITS if name != "load_ahead_cycles"}
    units[CACHE] = units[CACHE_WRITES] = hardware.cache.ports if hardware.cache else 1
    units[SCRATCHPAD] = hardware.scratchpad.ports if hardware.scratchpad else 1
    return units


def _schedule(block: PrintedBlock, graph: BlockGraph, units: Mapping[str, int]) -> Schedule:
    scheduler = schedule_loop if block.kind == "loop" else schedule_straight
    return scheduler(graph.tasks, graph.dependences, units)


def _access_rows(graph: BlockGraph, schedule: Schedule) -> dict[int, str]:
    """The rows of the accesses of a block: when in the iteration they start, and how long their value can be late."""
    rows: dict[int, str] = {}
    for access in graph.accesses:
        slack = min(schedule.slack[access.task], NEVER_USED)
        rows[access.line] = f"TF_LINE_ACCESS, 0, 0, {schedule.starts[access.task]}, {slack}"
    return rows


def _header(printed: PrintedC, rows: Mapping[int, str]) -> str:
    lines = printed.source.splitlines()
    count = max([len(lines), *rows], default=0) + 1
    text: Sequence[str] = [
        # No machine is named, so that machines with the same units share what is compiled.
        f"/* The schedule of {printed.name}.c by line: kind, II, depth, offset, slack. */",
        f"#define TF_LINE_COUNT {count}",
        "static const tf_line tf_lines[TF_LINE_COUNT] = {",
        "    [0] = {TF_LINE_NONE, 0, 0, 0, 0},",
        *(f"    [{line}] = {{{row}}}, {_comment(lines, line)}" for line, row in sorted(rows.items())),
        "};",
        "",
    ]
    return "\n".join(text)


def _comment(lines: Sequence[str], line: int) -> str:
    """The statement itself, for whoever reads the table."""
    statement = lines[line - 1].strip() if line <= len(lines) else ""
    return f"/* {statement.replace('/*', '').replace('*/', '').strip()} */"
