"""The shell of a page that stands alone: it fetches nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from tools.report.markup import visible

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1b1d20; --soft: #565c63; --line: #8885; --shade: #8881;
  --good: #1b6b2d; --warn: #8a5200; --bad: #b3261e;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #15181b; --ink: #e7e9ec; --soft: #a9b0b8;
    --good: #9bd5a4; --warn: #ffcc80; --bad: #ff9d94;
  }
}
* { box-sizing: border-box }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100% }
body {
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  max-width: 66rem; margin: 0 auto; padding: 1.25rem 1rem 3rem;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: .25rem 0 .75rem }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem }
h1, h2, h3, p, li, dd, summary, figcaption { overflow-wrap: anywhere }
p, ul, dl { margin: .5rem 0 }
p, li { max-width: 46rem }
.verdict { font-size: 1.1rem; border-left: 4px solid; padding-left: .75rem }
.soft { color: var(--soft) }
.error { color: var(--bad) } .warning { color: var(--warn) } .good { color: var(--good) }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
caption { text-align: left; color: var(--soft); padding: .25rem 0 }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line) }
th { font-weight: 600; vertical-align: bottom }
figure { margin: 1rem 0 }
figcaption { margin-bottom: .35rem }
@media print {
  @page { size: A4; margin: 15mm 14mm }
  :root { color-scheme: light }
  body { max-width: none; padding: 0; font-size: 10.5pt }
  h1, h2, h3, h4, .soft, figcaption, caption { break-after: avoid }
  figure, tr, li { break-inside: avoid }
  .wide { overflow: visible }
}
"""


def page(title: str, style: str, body: Iterable[str]) -> Iterator[str]:
    """Pieces of one HTML file.

    Args:
        title: of the window.
        style: CSS besides that of every page.
        body: HTML.
    """
    yield '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{escape(visible(title))}</title>\n"
    yield f"<style>{_STYLE}{style}</style></head>\n<body>\n"
    yield from body
    yield "\n</body>\n</html>\n"
