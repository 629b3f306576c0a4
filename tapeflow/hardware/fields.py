"""The fields of a machine under dotted names (`cache.mshrs`), with their documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from tapeflow.hardware.config import Hardware, Of, part_of


def flat_fields(machine: Hardware) -> dict[str, Any]:
    """Dotted name -> value of every field; a part that the machine lacks is one field, None."""
    return dict(_flat("", machine.model_dump(mode="json")))


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    # A mapping below the parts is a value: `units.latency`.
    if isinstance(value, dict) and prefix.count(".") < 2:
        for name, inner in value.items():  # pyright: ignore[reportUnknownVariableType]  # JSON, as pydantic dumps it
            yield from _flat(f"{prefix}{name}.", inner)
    else:
        yield prefix.removesuffix("."), value


@dataclass(frozen=True)
class FieldText:
    """What is written beside a field where it is declared."""

    description: str
    """What it is."""

    unit: str
    """Its unit; empty for a part."""

    source: str
    """Where its default comes from; empty for a part."""


def field_texts() -> dict[str, FieldText]:
    """Dotted name -> what is written beside the field, parts included."""
    return dict(_texts("", Hardware))


def _texts(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, FieldText]]:
    for name, field in model.model_fields.items():
        of = next((said for said in field.metadata if isinstance(said, Of)), Of("", ""))
        yield prefix + name, FieldText(" ".join((field.description or "").split()), of.unit, of.source)
        part = part_of(model, name)
        if part is not None:
            yield from _texts(f"{prefix}{name}.", part)
