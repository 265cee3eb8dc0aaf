"""The four formats, the choice of rules, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch
from tests.conftest import ROOT
from tests.validate.corpus.base import BASE
from tools.cli import main
from tools.validate.catalogue import FAMILIES, RULES, Selection, find
from tools.validate.findings import Place, Severity
from tools.validate.report import FORMATS, ordered, text, verdict

RULE = find("C007")
ODD = RULE.at(Place(Path("a b/config.pbtxt"), 3, 7), "expected 8, got 16: 100%,\nreally")
BROKEN = BASE + "dynamic_batching { preferred_batch_size: 16 max_queue_delay_microseconds: 5 }\n"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "config.pbtxt"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def test_every_rule_explains_itself() -> None:
    assert len(RULES) > 100
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    for code, rule in RULES.items():
        assert code == rule.code
        assert code[0] in FAMILIES
        assert code[1:].isdecimal()
        for said in (rule.cause, rule.evidence, rule.mend):
            assert said.endswith((".", "!", "?")), (code, said)


def test_no_rule_is_lost_by_a_double_code() -> None:
    for letter, modules in FAMILIES.items():
        values = [value for module in modules for value in vars(module).values()]
        own = [value for value in values if type(value) is type(RULE)]
        assert len(own) == len([code for code in RULES if code.startswith(letter)])


def test_text_names_place_code_and_mend() -> None:
    first, mend, last = text([RULE.at(Place(Path("c.pbtxt"), 3, 7), "expected 8")]).splitlines()
    assert first == "c.pbtxt:3:7: error C007 preferred-size-above-max: expected 8"
    assert mend.strip() == RULE.mend
    assert last.startswith("1 error;")
    assert verdict([]) == "nothing found"


def test_json_is_a_list_of_facts() -> None:
    (one,) = json.loads(FORMATS["json"]([ODD]))
    assert one["code"] == "C007"
    assert (one["line"], one["column"], one["severity"]) == (3, 7, "error")
    assert one["message"] == ODD.message


def test_sarif_has_the_rules_and_the_places() -> None:
    log = json.loads(FORMATS["sarif"]([ODD]))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["C007"]
    (result,) = run["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["region"] == {"startLine": 3, "startColumn": 7}
    assert physical["artifactLocation"]["uri"] == "a%20b/config.pbtxt"


def test_a_github_annotation_is_one_line_with_its_marks_escaped() -> None:
    said = FORMATS["github"]([ODD])
    assert "\n" not in said
    assert said.startswith("::error file=a b/config.pbtxt,line=3,col=7,title=C007")
    assert said.endswith("expected 8, got 16: 100%25,%0Areally")


def test_findings_are_ordered_by_place_and_not_repeated() -> None:
    late = RULE.at(Place(Path("a"), 9), "late")
    early = RULE.at(Place(Path("a"), 2), "early")
    assert ordered([late, early, late]) == [early, late]


@pytest.mark.parametrize(
    ("select", "ignore", "kept"),
    [
        ((), (), True),
        (("C",), (), True),
        (("C007",), (), True),
        (("c007",), (), True),
        (("preferred-size-above-max",), (), True),
        (("E",), (), False),
        ((), ("C0",), False),
    ],
)
def test_rules_are_chosen_by_beginning_or_name(
    select: tuple[str, ...], ignore: tuple[str, ...], kept: bool
) -> None:
    assert (RULE in Selection(select, ignore)) is kept


def test_a_rule_that_is_not_there_is_told_its_neighbours() -> None:
    with pytest.raises(
        ContractMismatch, match=r"no rule 'prefered-size-above-max'.*preferred-size"
    ):
        Selection(("prefered-size-above-max",))


def test_the_command_fails_on_errors_only(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["validate", "--target", "cpu", "--config", str(broken)]
    assert main(command) == 1
    assert f"{broken}:5:20: error C007" in capsys.readouterr().out
    assert main([*command, "--ignore", "C007"]) == 0
    assert main([*command, "--ignore", "C007", "--strict"]) == 1
    assert main([*command, "--select", "E"]) == 0


def test_what_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert main(["validate", "--config", str(tmp_path / "no")]) == 2
    assert main(["validate", "--repository", str(tmp_path / "no")]) == 2
    assert main(["validate", "--model", str(tmp_path / "no")]) == 2
    assert main(["validate", "--triton", "99.99"]) == 2


def test_explain_tells_cause_evidence_and_mend(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "late-mode"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("C117 late-mode (warning)")
    for title in ("Cause: ", "Evidence: ", "Mend: "):
        assert title in said
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RULES)
    assert main(["explain", "C999"]) == 2


def test_configurations_alone_need_nothing_heavy() -> None:
    code = (
        "import sys; from tools.cli import main; main(['validate', '--select', 'S,C,R,E']); "
        "heavy = {'onnx', 'onnxruntime', 'nvidia', 'cv2', 'PIL'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_severities_say_what_they_promise() -> None:
    refused = [r for r in RULES.values() if r.code.startswith(("C0", "E0", "R0", "S0"))]
    assert {rule.severity for rule in refused} == {Severity.ERROR}
    accepted = [r for r in RULES.values() if r.code.startswith(("C1", "E1", "R1"))]
    assert Severity.ERROR not in {rule.severity for rule in accepted}


def test_a_terminal_that_can_not_show_a_name_still_gets_the_report(tmp_path: Path) -> None:
    path = tmp_path / "config.pbtxt"
    path.write_text(BASE.replace('"python"', '"pythön\\n"'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tools", "validate", "--target", "cpu", "--config", str(path)],
        cwd=ROOT,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 1
    (line,) = [one for one in done.stdout.splitlines() if b" C043 " in one]
    assert line.endswith(b"got pyth\\xf6n\\n")


def test_a_path_in_sarif_is_a_uri() -> None:
    finding = RULE.at(Place(Path("a#b %20/é?.pbtxt"), 1, 1), "x")
    (run,) = json.loads(FORMATS["sarif"]([finding]))["runs"]
    (place,) = run["results"][0]["locations"]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%23b%20%2520/%C3%A9%3F.pbtxt"


def test_many_tensors_take_no_more_than_their_share(tmp_path: Path) -> None:
    path = tmp_path / "config.pbtxt"
    tensors = (f'input {{ name: "A{n}" data_type: TYPE_FP32 dims: -1 }}\n' for n in range(3000))
    text = 'backend: "python"\nmax_batch_size: 8\ndynamic_batching { }\n' + "".join(tensors)
    path.write_text(text, encoding="utf-8")
    assert main(["validate", "--target", "cpu", "--format", "json", "--config", str(path)]) == 0
