"""The files that the benchmarks leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def save(out: Path, name: str, measured: Any, text: str) -> str:
    """Write what was measured to `name`.json and the table of it, `text`, to `name`.md in `out`; returns the JSON."""
    out.mkdir(parents=True, exist_ok=True)
    as_json = json.dumps(measured, indent=1)
    (out / f"{name}.json").write_text(as_json)
    (out / f"{name}.md").write_text(text)
    return as_json
