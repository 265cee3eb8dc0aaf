"""What ``tandem classify`` prints, in which order, and how it ends."""

from __future__ import annotations

import argparse
import io
import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ensemble.errors import InvalidInput, ModelUnavailable, Overloaded, ServingError
from tests.fakes.inference_server import serving
from tests.fakes.transport import CUP, FakeTransport
from tools.client.classify import run
from tools.client.options import ClassifyOptions, add_arguments, options_from
from tools.client.report import BAR_ABOVE_FILES
from tools.client.transport import Answer
from tools.terminal import printable


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path, count: int) -> tuple[str, ...]:
    """Files whose content is their own name."""
    names = [f"{number:03}.png" for number in range(count)]
    for name in names:
        (folder / name).write_bytes(name.encode())
    return tuple(names)


def classify(
    transport: FakeTransport, options: ClassifyOptions, err: io.StringIO | None = None
) -> tuple[int, list[str], list[str]]:
    """Exit code, and the lines of both streams."""
    out, err = io.StringIO(), err or io.StringIO()
    code = run(options, out, err, transport.connect)
    return code, out.getvalue().splitlines(), err.getvalue().splitlines()


def bad(number: int, error: ServingError) -> FakeTransport:
    return FakeTransport(lambda image: error if image == b"%03d.png" % number else CUP)


def test_text_shows_the_best_classes_below_the_name(here: Path) -> None:
    transport = FakeTransport()
    code, out, err = classify(transport, ClassifyOptions(files(here, 1), top_k=2))
    assert out == ["000.png", "  0.957  espresso (967)", "  0.031  coffee mug (504)"]
    assert (code, err) == (0, [])
    assert transport.requests == [[b"000.png"]]
    assert transport.hung_up


def test_without_top_k_a_server_with_fewer_classes_is_no_error(here: Path) -> None:
    one = Answer((7,), (1.0,), ("cock",))
    code, out, _ = classify(FakeTransport(lambda image: one), ClassifyOptions(files(here, 1)))
    assert (code, out[1:]) == (0, ["  1.000  cock (7)"])


def test_json_is_one_object_a_line(here: Path) -> None:
    options = ClassifyOptions((*files(here, 2), "nowhere"), top_k=1, json=True)
    code, out, err = classify(bad(1, InvalidInput("not an image")), options)
    espresso = {"class_id": 967, "label": "espresso", "score": 0.957}
    assert [json.loads(line) for line in out] == [
        {"file": "000.png", "classes": [espresso]},
        {"file": "001.png", "error": {"kind": "invalid_input", "message": "not an image"}},
        {
            "file": "nowhere",
            "error": {"kind": "invalid_input", "message": "No such file or directory"},
        },
    ]
    assert code == 1
    assert err[0] == "001.png: invalid_input: not an image"


def test_one_bad_of_five_fails_alone(here: Path) -> None:
    names = files(here, 5)
    code, out, err = classify(bad(2, Overloaded("full")), ClassifyOptions(names, top_k=1))
    assert [line for line in out if not line.startswith(" ")] == [
        name for name in names if name != "002.png"
    ]
    assert err == ["002.png: overloaded: full", "tandem classify: 1 of 5 files failed"]
    assert code == 1


def test_an_unreachable_server_stops_it(here: Path) -> None:
    options = ClassifyOptions(files(here, 200), top_k=1, concurrency=2)
    transport = bad(3, ModelUnavailable("no server at x:1: Connection refused"))
    code, out, err = classify(transport, options)
    assert code == 3
    assert out[::2] == ["000.png", "001.png", "002.png"]
    assert err == [
        "003.png: model_unavailable: no server at x:1: Connection refused",
        "tandem classify: stopped there, with 3 of 200 files answered",
    ]
    assert len(transport.requests) <= 3 + 2 * options.concurrency


def test_more_classes_than_the_server_returns_is_a_usage_error(here: Path) -> None:
    options = ClassifyOptions(files(here, 3), top_k=3)
    assert classify(FakeTransport(), options)[0] == 0
    code, out, err = classify(FakeTransport(), replace(options, top_k=4))
    assert (code, out) == (2, [])
    assert len(err) == 1
    assert "--top-k 4: the server returns 3 classes" in err[0]


def test_a_wrong_url_is_a_usage_error() -> None:
    err = io.StringIO()
    assert run(ClassifyOptions(("-",), url="https://x"), io.StringIO(), err) == 2
    assert "TLS" in err.getvalue()


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_end_to_end_over_both_protocols(here: Path, protocol: str) -> None:
    def model(rows: Any) -> list[Answer]:
        name = rows[0].tobytes().decode()
        return [Answer((int(name[:3]),), (0.5,), (name,))]

    out = io.StringIO()
    with serving(protocol, model) as url:
        code = run(ClassifyOptions(files(here, 30), protocol, url), out, io.StringIO())
    assert code == 0
    assert out.getvalue().splitlines()[1::2] == [f"  0.500  {n:03}.png ({n})" for n in range(30)]


def test_ctrl_c_does_not_wait_for_requests_in_flight(here: Path) -> None:
    in_flight, never = threading.Event(), threading.Event()

    def reply(image: bytes) -> Answer:
        if image == b"000.png":
            assert in_flight.wait(10)
            raise KeyboardInterrupt
        in_flight.set()
        never.wait(20)
        return CUP

    start = time.monotonic()
    code, out, err = classify(FakeTransport(reply), ClassifyOptions(files(here, 9)))
    assert time.monotonic() - start < 10  # the requests in flight take 20
    never.set()
    assert (code, out, err) == (130, [], [])


def test_a_closed_pipe_ends_it_quietly(here: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    err = io.StringIO()
    with open(writer, "w", encoding="utf-8") as out:
        code = run(ClassifyOptions(files(here, 50)), out, err, FakeTransport().connect)
    assert (code, err.getvalue()) == (0, "")


def test_a_full_disk_is_named(here: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    err = io.StringIO()
    assert run(ClassifyOptions(files(here, 1)), Full(), err, FakeTransport().connect) == 1
    assert err.getvalue() == "tandem classify: cannot write the results: No space left on device\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("count", "err", "bar"),
    [
        (BAR_ABOVE_FILES + 1, Terminal(), True),
        (BAR_ABOVE_FILES, Terminal(), False),
        (BAR_ABOVE_FILES + 1, io.StringIO(), False),
    ],
)
def test_a_bar_for_many_files_on_a_terminal(
    here: Path, count: int, err: io.StringIO, bar: bool
) -> None:
    code, out, _ = classify(FakeTransport(), ClassifyOptions(files(here, count), top_k=1), err)
    assert (code, len(out)) == (0, 2 * count)
    assert (f"{count}/{count}" in err.getvalue()) == bar


def test_a_name_cannot_command_the_terminal() -> None:
    assert printable("a\nb\x1b[31m\udcff é", "utf-8") == r"a\nb\x1b[31m\udcff é"
    assert printable("é", "ascii") == r"\xe9"


def parsed(*arguments: str) -> ClassifyOptions:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return options_from(parser.parse_args(arguments))


def test_arguments_become_options() -> None:
    defaults = ClassifyOptions(("a", "-"))
    assert parsed("a", "-") == defaults
    assert parsed("a", "-", "--url", "http://x:1") == replace(
        defaults, protocol="http", url="http://x:1"
    )
    assert parsed("a", "-", "--url", "http://x:1", "--protocol", "grpc").protocol == "grpc"
    options = parsed("a", "--json", "--top-k", "5", "--concurrency", "2", "--timeout-s", "0.5")
    assert options == ClassifyOptions(("a",), "grpc", None, 5, True, 2, 0.5)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("a", "--top-k", "0"),
        ("a", "--concurrency", "x"),
        ("a", "--timeout-s", "nan"),
        ("a", "--timeout-s", "inf"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(*arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err
