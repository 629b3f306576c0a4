"""`tapeflow hardware`: the machines that gradients are simulated on, listed, described and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tapeflow.cli_json import Json, print_json

if TYPE_CHECKING:
    from tapeflow.hardware import Hardware

app = typer.Typer(
    name="hardware",
    help="The machines that gradients are simulated on.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_WIDE = 110
"""Characters a line from which on what has a column of text is a table."""

Machine = Annotated[str, typer.Argument(help="A preset, or a YAML file of one.", show_default=False)]


@app.command("list")
def list_machines(as_json: Json = False) -> None:
    """List the machines that come with Tapeflow, smallest first.

    For example:

        tapeflow hardware list
    """
    from tapeflow.hardware import Hardware

    machines = sorted(map(Hardware.preset, Hardware.presets()), key=lambda machine: (machine.sram_bytes, machine.name))
    if as_json:
        print_json({machine.name: _summary(machine) for machine in machines})
        return
    if _console().width < _WIDE:
        names = max(len(machine.name) for machine in machines)
        sizes = max(len(str(machine.sram_bytes)) for machine in machines)
        for machine in machines:
            line = f"{machine.name:<{names}}  {machine.sram_bytes:>{sizes}} B  {_tape(machine)}"
            _print_paragraph(line, machine.description)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("machine", no_wrap=True)
    table.add_column("SRAM", justify="right", no_wrap=True)
    table.add_column("tape", no_wrap=True)
    table.add_column("what it is")
    for machine in machines:
        table.add_row(machine.name, f"{machine.sram_bytes} B", _tape(machine), machine.description)
    _print(table)


@app.command()
def show(
    machine: Machine,
    fields: Annotated[
        bool, typer.Option("--fields", help="Say beside each field its unit, what it is, and its source.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print every field of a machine, as a YAML file that is read back.

    For example:

        tapeflow hardware show stream-1k > mine.yaml

        tapeflow hardware show cache-32k --fields
    """
    from tapeflow.simulation import machine as find_machine

    found = find_machine(machine)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif fields:
        _print_described(found)
    else:
        print(yaml.safe_dump(found.model_dump(mode="json"), sort_keys=False, allow_unicode=True), end="")


@app.command()
def diff(machine: Machine, other: Machine, as_json: Json = False) -> None:
    """List the fields in which two machines differ, and what makes a comparison of them unequal.

    For example:

        tapeflow hardware diff stream-1k cache-2k

    Differences in clock, units, DRAM, energy tables, requests in flight, ports and bytes on chip are not what a
    comparison of tapes is about; they are listed once more.
    """
    from tapeflow.hardware.fields import flat_fields
    from tapeflow.hardware.report import machine_names
    from tapeflow.simulation import machine as find_machine

    first, second = find_machine(machine), find_machine(other)
    names = machine_names([first, second])
    mine, theirs = flat_fields(first), flat_fields(second)
    changed = {
        name: (mine.get(name), theirs.get(name))
        for name in dict.fromkeys((*mine, *theirs))
        if mine.get(name) != theirs.get(name) and name not in ("name", "description")
    }
    unequal = first.differences(second)
    if as_json:
        print_json({"machines": names, "fields": changed, "unequal": unequal})
        return
    if not changed:
        print(f"{names[0]} and {names[1]} are the same machine")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", *names):
        table.add_column(heading, overflow="fold")
    for name, (here, there) in changed.items():
        table.add_row(name, _shown(here), _shown(there))
    _print(table)
    print(f"not equal: {'; '.join(unequal)}" if unequal else "equal in all that a comparison must keep equal")


def _console() -> Console:
    """Names as they are: brackets and colons in them are no styles and no emoji."""
    return Console(markup=False, emoji=False, highlight=False)


def _print(table: Table) -> None:
    _console().print(table)


def _print_paragraph(line: str, *texts: str) -> None:
    """A row of a table on lines of its own, where a column of text beside the others would be a word wide."""
    _console().print(Text(line, "bold"))
    for text in texts:
        _console().print(Padding(Text(text), (0, 0, 0, 4), expand=False))


def _summary(machine: Hardware) -> dict[str, Any]:
    return {
        "description": machine.description,
        "sram_bytes": machine.sram_bytes,
        "outstanding": machine.outstanding,
        "memory_ports": machine.memory_ports,
        "dram": machine.dram.part,
        "pipeline": machine.pipeline.model_dump(),
    }


def _tape(machine: Hardware) -> str:
    """Where the tape goes, in a few words."""
    pipeline = machine.pipeline
    if not pipeline.spad_bytes:
        return f"in cache, {pipeline.layout}"
    return f"{'streamed' if pipeline.stream else 'copied'}, {pipeline.spad_bytes} B"


def _print_described(machine: Hardware) -> None:
    from tapeflow.hardware.fields import field_texts, flat_fields

    texts = field_texts()
    if _console().width < _WIDE:
        for name, value in flat_fields(machine).items():
            text = texts[name]
            line = f"{name}: {_shown(value)}" + (f" {text.unit}" if _counts(value) else "")
            _print_paragraph(line, text.description, f"Source: {text.source}")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("field", "value", "unit", "what it is", "source"):
        table.add_column(heading, overflow="fold")
    for name, value in flat_fields(machine).items():
        text = texts[name]
        table.add_row(name, _shown(value), text.unit, text.description, text.source)
    _print(table)


def _counts(value: object) -> bool:
    """Whether a unit says something about `value`."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
