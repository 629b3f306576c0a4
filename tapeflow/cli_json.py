"""`--json`, which every verb of the command line takes."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]


def print_json(value: Any) -> None:
    """Print `value` as indented JSON."""
    print(json.dumps(value, indent=2))
