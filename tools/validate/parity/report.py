"""One HTML file that shows what was compared; it needs nothing but itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ensemble.transform import Transform
from tools.report.page import page
from tools.validate.findings import Finding, errors
from tools.validate.parity.comparison import Compared, ParityResult

Array = np.ndarray[Any, Any]

SHOWN = 12
"""Pictures shown; the rest are in the table only. Three PNGs each, about 0.3 MB."""
_MOST_AMPLIFIED = 64

_STYLE = """
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; min-width: 9rem }
td:nth-child(2), th:nth-child(2) { text-align: left }
.three { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .5rem }
.three img { width: 100%; height: auto; display: block; background: #000 }
.three span { font-size: .85rem }
"""


def write(path: Path, transform: Transform, reference: str, result: ParityResult) -> None:
    """Write the report.

    Args:
        path: the HTML file.
        transform: the server's, for the way back from what is fed to levels.
        reference: what the server was compared with.
        result: figures, pictures and findings.

    Raises:
        OSError: it can't be written.
    """
    body = _body(transform, reference, result)
    path.write_text("".join(page("Preprocessing parity", _STYLE, body)), encoding="utf-8")


def verdict(reference: str, result: ParityResult) -> str:
    """The outcome, in a sentence."""
    count, agree = len(result.pictures), sum(one.agrees for one in result.pictures)
    if not count:
        return f"Nothing was compared with {reference}."
    if agree == count:
        return f"The server feeds what {reference} feeds: all {count} pictures agree."
    names = ", ".join(dict.fromkeys(finding.rule.name for finding in result.findings))
    return f"{count - agree} of {count} pictures differ from {reference}: {names}."


def _body(transform: Transform, reference: str, result: ParityResult) -> Iterator[str]:
    kind = "error" if errors(result.findings) else "warning" if result.findings else "good"
    yield "<h1>Served pixels against trained pixels</h1>"
    yield f'<p class="verdict {kind}">{escape(verdict(reference, result))}</p>'
    yield "<ul>" + "".join(map(_item, result.findings)) + "</ul>" if result.findings else ""
    yield "<h2>Every picture</h2>"
    yield "<p>Absolute differences, in levels of 0 to 255. A picture agrees when the mean is at "
    yield "most its tolerance.</p>"
    yield '<div class="wide"><table><tr><th>picture<th>found<th>mean<th>p99<th>max<th>allowed'
    yield from map(_row, result.pictures)
    yield "</table></div><h2>Pictures</h2>"
    # Those that differ first, photographs before generated ones.
    order = sorted(result.pictures, key=lambda one: (one.agrees, one.picture.generated, -one.mean))
    yield from (_figure(one, transform) for one in order[:SHOWN])
    if len(order) > SHOWN:
        yield f"<p>{len(order) - SHOWN} more are in the table only.</p>"


def _item(finding: Finding) -> str:
    rule = finding.rule
    name = f'<b class="{rule.severity.value}">{rule.code} {escape(rule.name)}</b>'
    return f"<li>{name} ({rule.severity.value}): {escape(finding.message)}. {escape(rule.mend)}"


def _row(one: Compared) -> str:
    found = " ".join(one.explained) or ("agrees" if one.agrees else "differs")
    figures = (one.mean, one.p99, one.largest)
    cells = "".join(f"<td>{figure:.2f}" for figure in figures)
    kind = "good" if one.agrees else "error"
    return (
        f'<tr><td>{escape(one.picture.name)}<td class="{kind}">{escape(found)}{cells}'
        f"<td>{one.picture.tolerance_levels:g}"
    )


def _figure(one: Compared, transform: Transform) -> str:
    ours, reference = (levels(pixels, transform) for pixels in (one.ours, one.reference))
    apart = np.nan_to_num(np.abs(ours - reference), nan=255.0, posinf=255.0)
    factor = amplification(one.p99)
    shown = {"served": ours, "reference": reference, f"difference x {factor}": apart * factor}
    three = (f"<div>{_image(a, name)}<span>{name}</span></div>" for name, a in shown.items())
    caption = f"{escape(one.picture.name)}: mean difference {one.mean:.2f} levels"
    pictures = "".join(three)
    return f'<figure><figcaption>{caption}</figcaption><div class="three">{pictures}</div></figure>'


def amplification(p99: float) -> int:
    """A whole factor that makes a difference of ``p99`` levels bright, 1 to 64."""
    return int(np.clip(255 // max(p99, 1.0), 1, _MOST_AMPLIFIED)) if np.isfinite(p99) else 1


def levels(pixels: Array, transform: Transform) -> Array:
    """What is fed, back in levels of 0..255 by the server's mean and std, RGB, (h, w, 3)."""
    fed = pixels.transpose(1, 2, 0) if transform.layout == "CHW" else pixels
    back = fed * np.array(transform.std, np.float32) + np.array(transform.mean, np.float32)
    rgb: Array = back if transform.colour == "RGB" else back[..., ::-1]
    return rgb


def _image(array: Array, name: str) -> str:
    whole = np.clip(np.nan_to_num(np.rint(array)), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(whole).save(stream, "PNG")
    data = base64.b64encode(stream.getvalue()).decode()
    return f'<img alt="{name}" src="data:image/png;base64,{data}">'
