"""How charts look: colours that colour-blind people tell apart, and patterns for those in print.

Okabe and Ito's colours, of which the light and the dark page take those with enough contrast.
Source: M. Okabe, K. Ito, Color Universal Design (2002).
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from tools.report.markup import node

STYLE = """
:root {
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #000; --c4: #cc79a7; --c5: #b87f00;
  --queue: #d55e00; --input: #56b4e9; --infer: #0072b2; --output: #009e73;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --c0: #56b4e9; --c1: #e69f00; --c2: #2fc296; --c3: #fff; --c4: #cc79a7; --c5: #f0e442;
    --queue: #e69f00; --input: #a8d8f5; --infer: #3b9ad9; --output: #2fc296;
  }
}
header { border-bottom: 1px solid var(--line); margin-bottom: 1rem }
.kicker { color: var(--soft); margin: 0 }
.verdict { color: var(--ink); border-color: var(--c0); font-size: 1.2rem; line-height: 1.45 }
.alert { border-left: 4px solid var(--warn); padding-left: .75rem }
h2.record { border-top: 3px solid var(--c0); padding-top: .75rem; margin-top: 3.5rem }
th.words, td.words { text-align: left }
tbody th { font-weight: 500 }
td, tbody th { vertical-align: top }
td { white-space: nowrap } small { color: var(--soft); font-size: .85em; white-space: normal }
small.interval { white-space: nowrap }
td.words { white-space: normal; overflow-wrap: anywhere; min-width: 8.25em }
th.words:first-child { overflow-wrap: anywhere; min-width: 6.5em; padding-left: 0 }
.figures figure { margin: .75rem 0 1.25rem; max-width: 30rem; min-width: 0 }
@media (min-width: 46rem) {
  .figures, .beside { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2.5rem }
  .beside .figures { display: block }
}
figcaption { font-weight: 600; font-size: .95rem }
.chart { display: block; width: 100%; height: auto; overflow: hidden }
.chart text {
  font-size: 11.5px; fill: var(--ink); font-variant-numeric: tabular-nums;
  paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round;
}
.chart .title, .chart .note { fill: var(--soft) }
.chart .group { font-weight: 600 }
.grid, .axis { stroke: var(--line); stroke-width: 1 }
.c0 { color: var(--c0) } .c1 { color: var(--c1) } .c2 { color: var(--c2) }
.c3 { color: var(--c3) } .c4 { color: var(--c4) } .c5 { color: var(--c5) }
.series { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round }
.chart .interval { fill: none; stroke: currentColor; stroke-width: 1.25; opacity: .75 }
.mark { fill: currentColor; stroke: var(--paper); stroke-width: .75 }
.hollow { fill: var(--paper); stroke: currentColor; stroke-width: 2 }
.leader { fill: none; stroke: var(--soft); stroke-width: .75; stroke-dasharray: 1 2 }
line.limit { stroke: var(--ink); stroke-width: 1.25; stroke-dasharray: 10 4 }
.expected { fill: none; stroke: var(--c1); stroke-width: 2; stroke-dasharray: 7 3 }
.bar { fill: var(--c0) }
.part { stroke: var(--ink); stroke-width: .6 }
.p0 { fill: url(#queue) } .p1 { fill: var(--input) } .p2 { fill: var(--infer) }
.p3 { fill: url(#output) }
.patterns { position: absolute; width: 0; height: 0 }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .15rem 1.25rem }
.legend li { display: flex; align-items: center; gap: .45rem; max-width: 100%; min-width: 0 }
.legend span { min-width: 0; overflow-wrap: anywhere }
.swatch { width: 30px; height: 14px; flex: none }
details { margin: .6rem 0; border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem }
summary { cursor: pointer; font-weight: 500 }
pre {
  font: .82rem/1.45 ui-monospace, Menlo, Consolas, monospace; background: var(--shade);
  padding: .6rem .8rem; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere;
}
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .2rem 1.25rem }
dt { color: var(--soft) } dd { margin: 0; min-width: 0 }
a { color: var(--c0) }
table { font-size: .925rem }
.wide + .wide { margin-top: 1.25rem }
.dense small { display: block }
@media (max-width: 40rem) {
  table { font-size: .875rem }
  th, td { padding: .3rem .45rem }
  td small { display: block }
  td small:not(.interval) { min-width: 7.5rem }
  caption { position: sticky; left: 0; max-width: calc(100vw - 2rem) }
}
@media print {
  .figures, .beside { display: grid; grid-template-columns: 1fr 1fr; gap: 0 8mm }
  .beside .figures { display: block }
  td, th { padding: .2rem .4rem; font-size: 9pt }
  td small { display: block }
  .legend { break-after: avoid }
  summary { list-style: none }
  pre { font-size: 7.5pt }
  details { border: 0; padding: 0 }
  details::details-content { content-visibility: visible; display: block; height: auto }
}
"""


def patterns() -> Element:
    """What ``STYLE`` fills pieces of bars with, to be put once into the page."""
    hatched = _pattern("queue", "M-1 1L1-1M0 6L6 0M5 7L7 5")
    crossed = _pattern("output", "M0 3H6M3 0V6")
    return node("svg", node("defs", hatched, crossed), class_="patterns", aria_hidden="true")


def _pattern(name: str, path: str) -> Element:
    paper = node("rect", width=6, height=6, fill="var(--paper)")
    drawn = node("path", d=path, stroke=f"var(--{name})", stroke_width=1.8)
    size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
    return node("pattern", paper, drawn, id=name, **size)
