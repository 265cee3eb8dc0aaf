"""Triton's trace files: each request of a client once, whatever is missing or broken in them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ensemble.errors import ContractMismatch
from tools.arrivals import trace
from tools.arrivals.stamps import Stamps
from tools.serve.health import PROBE_ID

START_NS = 1_401_106_629_080
STAGES = ("postprocess", "classifier", "preprocess")


def stamp(number: int, name: str, ns: int) -> dict[str, Any]:
    return {"id": number, "timestamps": [{"name": name, "ns": ns}]}


def request(
    number: int,
    at_s: float,
    protocol: str = "HTTP",
    model: str = "ensemble",
    children: Sequence[str] = STAGES,
    request_id: str | None = None,
) -> list[dict[str, Any]]:
    """What Triton 2.51 writes of one request, newest child first; ids count up in steps of 10."""
    ns = START_NS + round(1e9 * at_s)
    parts = []
    for place, child in enumerate(children, 1):
        one = number + place
        header = {"id": one, "model_name": child, "model_version": 1, "parent_id": number}
        parts += [
            header,
            stamp(one, "REQUEST_START", ns + 900),
            stamp(one, "QUEUE_START", ns + 950),
        ]
    header = {"id": number, "model_name": model, "model_version": 1}
    if request_id is not None:
        header["request_id"] = request_id
    body = [header, stamp(number, "REQUEST_START", ns + 400)]
    end = stamp(number, "REQUEST_END", ns + 10**7)
    if protocol == "HTTP":
        return [*parts, stamp(number, "HTTP_RECV_START", ns), *body, end]
    waits = stamp(number, "GRPC_WAITREAD_START", ns - 10**9), stamp(number, "GRPC_WAITREAD_END", ns)
    return [*parts, *body, end, *waits] if protocol == "GRPC" else [*parts, *body, end]


def written(path: Path, requests: Iterable[list[dict[str, Any]]]) -> Path:
    parts = [part for one in requests for part in one]
    path.write_text(json.dumps(parts, separators=(",", ":")))
    return path


def read(path: Path, model: str | None = None) -> Stamps:
    return trace.read([path], model, lambda _: None)


TIMES_S = (0.0, 0.25, 0.3, 1.0)


@pytest.mark.parametrize("protocol", ["HTTP", "GRPC", "C API"])
def test_each_request_to_an_ensemble_counts_once(tmp_path: Path, protocol: str) -> None:
    requests = [request(10 * n, at_s, protocol) for n, at_s in enumerate(TIMES_S)]
    stamps = read(written(tmp_path / "trace", requests))
    np.testing.assert_allclose(stamps.arrivals.times_s, TIMES_S, atol=1e-9)
    assert stamps.source == "trace trace, requests to 'ensemble'"
    assert (stamps.resolution_s, stamps.remarks) == (1e-9, ())


def test_pieces_are_read_in_order_of_their_numbers(tmp_path: Path) -> None:
    for place, name in enumerate(("t", "t.0", "t.2", "t.10", "t.10.0", "t.10.1")):
        written(tmp_path / name, [request(1, float(place))])
    for other in ("t.json", "t.1x", "tt", "t.0.part"):
        (tmp_path / other).write_text("not a piece")
    assert [path.name for path in trace.pieces([tmp_path / "t"])] == [
        *("t", "t.0", "t.2", "t.10", "t.10.0", "t.10.1")
    ]
    again = trace.pieces([tmp_path / "t.10", tmp_path / "t"])
    assert len(again) == len(set(again)) == 6
    assert read(tmp_path / "t").arrivals.times_s.tolist() == [0, 1, 2, 3, 4, 5]


def test_there_has_to_be_a_file_or_a_piece(tmp_path: Path) -> None:
    for path in (tmp_path / "t", tmp_path / "no" / "t"):
        with pytest.raises(ContractMismatch, match=r"expected a trace file, or t\.0; got"):
            read(path)


def test_probes_of_our_own_are_left_out_and_counted(tmp_path: Path) -> None:
    requests = [request(10 * n, at_s) for n, at_s in enumerate(TIMES_S)]
    probes = [request(100 + 10 * n, n / 9, request_id=PROBE_ID) for n in range(3)]
    stamps = read(written(tmp_path / "t", requests + probes))
    assert len(stamps.arrivals.times_s) == len(TIMES_S)
    assert stamps.remarks == ("3 probes of tandem left out",)


def test_the_model_that_was_called_most_is_taken_unless_one_is_named(tmp_path: Path) -> None:
    requests = [request(10 * n, at_s) for n, at_s in enumerate(TIMES_S)]
    direct = [request(100 + 10 * n, n, model="classifier", children=()) for n in range(2)]
    path = written(tmp_path / "t", requests + direct)
    assert read(path).remarks == ("requests to other models left out: 2 to 'classifier' (--model)",)
    assert len(read(path).arrivals.times_s) == 4
    assert len(read(path, "classifier").arrivals.times_s) == 2
    with pytest.raises(ContractMismatch, match="requests to no, got 2 to 'classifier', 4 to 'ens"):
        read(path, "no")


def test_a_file_that_is_cut_off_gives_what_is_whole(tmp_path: Path) -> None:
    whole = json.dumps([p for n, at in enumerate(TIMES_S) for p in request(10 * n, at)])
    for length in range(len(whole) // 2, len(whole), 7):
        (tmp_path / "t").write_text(whole[:length])
        stamps = read(tmp_path / "t")
        assert len(stamps.times_s) in (1, 2, 3, 4), length
        assert set(stamps.remarks) <= {
            "1 parts that are no JSON, such as a file cut off",
            "1 traces without a model or an arrival",
        }


def test_what_is_broken_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    parts = [json.dumps(request(10 * n, at)[:]) for n, at in enumerate(TIMES_S)]
    text = "\0\0\0".join(parts) + "[[[" * 100 + '{"a":' * 100_000
    (tmp_path / "t").write_text(text)
    stamps = read(tmp_path / "t")
    assert len(stamps.times_s) == 4
    assert "parts that are no JSON" in stamps.remarks[-1]


def test_pieces_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([p for n, at in enumerate(TIMES_S) for p in request(10 * n, at)])
    expected = list(trace.objects(io.StringIO(text)))
    assert None not in expected
    # An object is longer than a chunk: it waits for the next, up to one chunk more.
    for chunk in (200, 333, 1000):
        monkeypatch.setattr(trace, "_CHUNK", chunk)
        assert list(trace.objects(io.StringIO(text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "[1,2]",
        "\0" * 1000,
        "not json " * 300_000,
        '[{"id":1}]',
        '[{"id":1,"timestamps":7},{"id":1,"timestamps":[3,{"name":1,"ns":"x"}]}]',
        '[{"id":1,"model_name":"m"}]',
        '[{"id":1,"timestamps":[{"name":"REQUEST_START","ns":5}]}]',
    ],
)
def test_what_holds_no_request_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(ContractMismatch, match="t: expected Triton's trace of requests, got none"):
        read(tmp_path / "t")


def test_a_machine_that_was_started_again_leaves_only_what_came_after(tmp_path: Path) -> None:
    written(tmp_path / "t.1.0", [request(1, 5000.0), request(11, 5001.0)])
    written(tmp_path / "t.2.0", [request(1, 10.0), request(11, 12.0), request(21, 13.0)])
    stamps = read(tmp_path / "t")
    assert stamps.arrivals.times_s.tolist() == [0, 2, 3]
    assert stamps.remarks == ("the machine's clock began again; only what came after is used",)


def test_a_piece_that_is_deleted_while_others_are_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = written(tmp_path / "t", [request(10 * n, at_s) for n, at_s in enumerate(TIMES_S)])
    monkeypatch.setattr(trace, "pieces", lambda files: [tmp_path / "t.0", there])
    assert read(there).remarks == ("1 pieces were deleted before they could be read",)


def test_requests_that_end_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    times_s = [3.0, 0.0, 2.0, 1.0]
    stamps = read(written(tmp_path / "t", [request(10 * n, at) for n, at in enumerate(times_s)]))
    assert stamps.arrivals.times_s.tolist() == [0, 1, 2, 3]


def test_a_model_name_can_do_no_harm_to_a_terminal(tmp_path: Path) -> None:
    requests = [request(10 * n, at, model="a\x1b[2Jb") for n, at in enumerate(TIMES_S)]
    assert "\x1b" not in read(written(tmp_path / "t", requests)).source
