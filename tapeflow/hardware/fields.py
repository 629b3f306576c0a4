"""The fields of a machine under dotted names (`cache.mshrs`), with their documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from tapeflow.hardware.config import Hardware


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


def field_descriptions() -> dict[str, str]:
    """Dotted name -> what the field is, and its unit, as documented where it is declared."""
    return dict(_descriptions("", Hardware))


def _descriptions(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        yield prefix + name, " ".join((field.description or "").split())
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from _descriptions(f"{prefix}{name}.", kind)
