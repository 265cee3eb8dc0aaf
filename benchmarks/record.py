"""One JSON file a run: where it comes from, the settings and what came out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tools.export import ROOT
from tools.record.origin import origin

RECORDS = ROOT / "benchmarks" / "records"


def write_record(name: str, result: dict[str, Any], path: Path | None = None) -> Path:
    """Write ``result`` with where it came from; a path that is given is not dated."""
    stamp = time.strftime("%Y-%m-%d")
    path = path or RECORDS / f"{name}-{stamp}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"date": stamp, **origin(), **result}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return path
