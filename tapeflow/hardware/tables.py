"""The tables of the hardware model: rows by name, sizes in between by log-log interpolation, never a silent zero."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from tapeflow.errors import TapeflowError


@cache
def _rows(table: str) -> tuple[Mapping[str, str], ...]:
    text = (resources.files("tapeflow.hardware") / "data" / table).read_text(encoding="utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


@dataclass(frozen=True)
class Row:
    """One row of a table, whose missing values are errors."""

    table: str
    key: str
    values: Mapping[str, str]

    def text(self, column: str) -> str:
        """The value of `column` as it stands.

        Raises:
            TapeflowError: the table has no such value.
        """
        value = self.values.get(column, "")
        if not value:
            raise TapeflowError(
                f"{self.table}: '{self.key}' has no {column}", hint="the tables are in tapeflow/hardware/data"
            )
        return value

    def number(self, column: str) -> float:
        """The value of `column`, in the unit that its name says."""
        return float(self.text(column))

    def count(self, column: str) -> int:
        """The value of `column`, a whole number."""
        return int(self.text(column))


def row(table: str, key_column: str, key: str) -> Row:
    """The row of `table` whose `key_column` is `key`.

    Raises:
        TapeflowError: there is none; the error lists those there are.
    """
    for values in _rows(table):
        if values[key_column] == key:
            return Row(table, key, values)
    known = ", ".join(sorted({values[key_column] for values in _rows(table)}))
    raise TapeflowError(f"{table} has no {key_column} '{key}'", hint=f"it has: {known}")


@dataclass(frozen=True)
class Sram:
    """One SRAM array: the energy of an access through its port, what it leaks, and how long an access takes."""

    read_pj: float
    """Energy of a read of one word of the port, in pJ."""

    write_pj: float
    """Energy of a write of one word of the port, in pJ."""

    leakage_mw: float
    """Power leaked all the time, subthreshold and gate, in mW."""

    access_ns: float
    """Time of an access, in ns."""

    area_mm2: float
    """Area in square millimetres."""


_SRAM_COLUMNS = ("read_pj", "write_pj", "leakage_mw", "gate_leakage_mw", "access_ns", "area_mm2")


@cache
def technologies() -> Mapping[tuple[float, int], tuple[str, ...]]:
    """Feature size in micrometres and temperature in kelvin, largest first -> types of transistor of SRAM arrays."""
    found: dict[tuple[float, int], set[str]] = {}
    for values in _rows("sram-cacti7.csv"):
        found.setdefault((float(values["node_um"]), int(values["temperature_k"])), set()).add(values["cell_type"])
    return {technology: tuple(sorted(found[technology])) for technology in sorted(found, reverse=True)}


def sram(kind: str, size_bytes: int, *, node_um: float, cell_type: str, temperature_k: int) -> Sram:
    """The array of this `kind` and size, interpolated in log-log between the two sizes next to it.

    Args:
        kind: `spm8`, `spm64`, `cNw_par8`, `cNw_seq8` or `c8w_seq64`; see the tables' README.
        size_bytes: capacity in bytes.
        node_um: feature size in micrometres.
        cell_type: `itrs-hp`, `itrs-lop` or `itrs-lstp`.
        temperature_k: in kelvin.

    Raises:
        TapeflowError: no such array, or a size outside the table.
    """
    points: dict[float, Mapping[str, str]] = {
        float(values["size_kib"]): values
        for values in _rows("sram-cacti7.csv")
        if values["kind"] == kind
        and float(values["node_um"]) == node_um
        and values["cell_type"] == cell_type
        and int(values["temperature_k"]) == temperature_k
    }
    what = f"{kind}, {node_um:g} um, {cell_type}, {temperature_k} K"
    if not points:
        raise TapeflowError(f"sram-cacti7.csv has no array {what}", hint="see tapeflow/hardware/data/README.md")
    size = size_bytes / 1024
    sizes = sorted(points)
    if not sizes[0] <= size <= sizes[-1]:
        raise TapeflowError(
            f"sram-cacti7.csv has {what} from {sizes[0]:g} to {sizes[-1]:g} KiB, not {size:g} KiB",
            hint="another number of ways or another size",
        )
    below = max(known for known in sizes if known <= size)
    above = min(known for known in sizes if known >= size)
    values = [_between(float(points[below][c]), float(points[above][c]), below, above, size) for c in _SRAM_COLUMNS]
    read, write, leakage, gate, access, area = values
    return Sram(read, write, leakage + gate, access, area)


def _between(low: float, high: float, below: float, above: float, size: float) -> float:
    """The value at `size` of the power law through (below, low) and (above, high)."""
    if below == above:
        return low
    share = math.log(size / below) / math.log(above / below)
    return math.exp(math.log(low) * (1 - share) + math.log(high) * share)
