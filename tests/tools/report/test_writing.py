"""Markdown, comma-separated values and text: what they say, and what they must not do."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch
from tests.fakes.records import CLOSED
from tests.tools.report.pages import ODD, Page, odd_sheet, sheet_of, small
from tools.bench.report import as_text
from tools.cli import main
from tools.record.record import write
from tools.report.markdown import escaped, markdown
from tools.report.sheet import Sheet
from tools.report.spreadsheet import spreadsheet

PLAIN = odd_sheet("plain")


def rows_of(one: Sheet) -> list[list[str]]:
    return list(csv.reader(io.StringIO("".join(spreadsheet([one])), newline="")))


@pytest.mark.parametrize("name", ODD)
def test_every_odd_record_can_be_written(name: str) -> None:
    sheets = [odd_sheet(name)]
    for written in ("".join(markdown(sheets)), as_text(sheets[0].record, Path("run.json"))):
        assert sheets[0].verdict.sentence[:20] in written.replace("\\", "")
        assert not {"\x1b", "\u202e", "\ud800"} & set(written)
    rows = rows_of(sheets[0])
    assert len(rows) == 1 + len(sheets[0].summaries)
    assert len({len(row) for row in rows}) == 1


def test_markdown_has_the_verdict_first_and_whole_tables() -> None:
    lines = "".join(markdown([PLAIN])).splitlines()
    assert lines[0].startswith("**")
    assert lines[0].endswith("**")
    tables = [line for line in lines if line.startswith("|")]
    assert "| target | load | answers/s |" in tables[0]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in tables[:6]}
    assert widths == {9}
    assert sum("<details>" in line for line in lines) == sum("</details>" in line for line in lines)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("a|b", r"a\|b"),
        ("<b>*x*", r"\<b\>\*x\*"),
        ("@all #1", "@<!-- -->all #<!-- -->1"),
        ("a\nb", "a b"),
        ("[x](y)`", r"\[x\](y)\`"),
    ],
)
def test_markdown_obeys_no_name(given: str, written: str) -> None:
    assert escaped(given) == written


def test_a_command_can_not_leave_its_block() -> None:
    made = "".join(markdown([sheet_of(replace(small(), command=("a", "```\n</details>")))]))
    assert "````sh\na '```\n</details>'\n````\n" in made


def test_a_spreadsheet_has_units_in_its_head_and_every_interval() -> None:
    head, first, *_ = rows_of(PLAIN)
    row = dict(zip(head, first, strict=True))
    assert row["target"] == "baseline"
    assert row["callers"] == "4"
    assert row["rate_per_s"] == ""
    assert float(row["p95_ms_low"]) < float(row["p95_ms"]) < float(row["p95_ms_high"])
    assert row["gpu_utilisation"] == ""  # not measured is empty, not 0
    assert row["too_busy_errors"] == "0"


def test_a_spreadsheet_has_every_stage_of_every_record() -> None:
    plain = small(loads=CLOSED[:1], rounds=1)
    stages = tuple(replace(stage, model=f"={stage.model}") for stage in plain.cells[0].stages)
    other = replace(plain, cells=tuple(replace(cell, stages=stages) for cell in plain.cells))
    made = "".join(spreadsheet([sheet_of(plain), sheet_of(other)]))
    first, *_, last = csv.DictReader(io.StringIO(made, newline=""))
    assert float(first["stage.classifier.queue_ms"]) >= 0
    assert float(first["stage.classifier.compute_infer_ms"]) > 0
    assert first["stage.classifier.executions"] == str(plain.cells[0].stages[1].executions)
    assert first["stage.=classifier.queue_ms"] == ""  # another record's, not 0
    assert last["stage.=classifier.queue_ms"] != ""


def test_a_spreadsheet_is_as_rfc_4180_has_it() -> None:
    made = "".join(spreadsheet([odd_sheet("nasty")]))
    assert made.endswith("\r\n")
    assert made.count("\r\n") == made.count("\n")
    assert '""x""' in made


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_no_name_becomes_a_formula(name: str) -> None:
    targets = tuple(replace(target, server=name) for target in small().targets)
    head, first, *_ = rows_of(sheet_of(replace(small(), targets=targets)))
    assert not first[head.index("server")].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert rows_of(PLAIN)[1][head.index("server")] == "triton 2.51.0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(small(), tmp_path / "run.json")
    return tmp_path / "run.json"


def test_the_verb_writes_what_it_is_asked_for(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, table = path.with_suffix(".html"), path.with_suffix(".csv")
    asked = ["report", str(path), "--html", str(page), "--csv", str(table), "--markdown", "-"]
    assert main(asked) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert table.read_bytes().startswith(b"record,created,")
    assert capsys.readouterr().out.startswith("**In a closed loop")


def test_the_verb_prints_the_summary_when_no_format_is_asked(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = path.with_name("other.json")
    write(small(origin={"machine": {"cores": 64, "cpu": "another\x1b CPU"}}), other)
    assert main(["report", str(path), str(other)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("These records differ in machine (2 cores of a CPU; 64 cores")
    assert "\x1b" not in printed
    assert printed.count("In a closed loop, ") == 2
    assert printed.endswith(f"record: {other}\n")


@pytest.mark.parametrize("name", [b"two.json", b"\xff\x1b<b>.json"])
def test_records_of_one_name_are_told_apart_whatever_it_is(
    path: Path, name: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [path.parent / folder / os.fsdecode(name) for folder in "ab"]
    for other in others:
        other.parent.mkdir()
        write(small(), other)
    page, table = path.with_suffix(".html"), path.with_suffix(".csv")
    asked = map(str, [*others, others[1], "--html", page, "--csv", table])
    assert main(["report", *asked]) == 0
    read = Page(page.read_text(encoding="utf-8"))
    assert read.faults == []
    assert "\x1b" not in read.text
    assert len({row[0] for row in csv.reader(table.read_text(encoding="utf-8").splitlines())}) == 4
    assert main(["report", str(others[0])]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_record_nested_without_end_is_refused(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for depth in (40, 900):
        nested = '{"a":' * depth + "1" + "}" * depth
        deep = path.with_name("deep.json")
        text = path.read_text(encoding="utf-8")
        deep.write_text(text.replace('"origin": {', f'"origin": {{"deep": {nested},', 1))
        assert main(["report", str(deep), "--html", str(path.with_name("x.html"))]) == 2
        assert "deep.json: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["--html", "--csv", "--markdown"])
def test_a_record_is_not_overwritten(
    path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = path.read_bytes()
    assert main(["report", str(path), name, str(path.parent / "." / path.name)]) == 2
    assert "expected a file of its own" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_two_formats_do_not_share_standard_output(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(path), "--csv", "-", "--markdown", "-"]) == 2
    assert capsys.readouterr().out == ""


def test_what_can_not_be_read_or_written_is_an_error(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert main(["report", str(path), str(other)]) == ContractMismatch.exit_code
    assert main(["report", str(tmp_path / "none.json")]) == 2
    assert main(["report", str(path), "--html", str(tmp_path / "no" / "x.html")]) == 2
    assert "other.json: expected tandem-record version 1" in capsys.readouterr().err
