"""A real server records, a known schedule is sent, and the same comes back."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import running_server
from tools.arrivals import trace
from tools.cli import main
from tools.client.transport import connected
from tools.load.arrivals import pattern
from tools.load.arrivals_file import read
from tools.serve.health import PROBE_IMAGE

# Forty one by one over both protocols, then eight at once.
DUE_S = np.concatenate([np.arange(40) / 20, np.full(8, 2.5)])


@pytest.mark.server
def test_what_was_sent_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sent_s = np.zeros(len(DUE_S))
    with (
        running_server(tmp_path, f"--record-arrivals={tmp_path / 't'}") as server,
        ExitStack() as s,
    ):
        transports = [
            s.enter_context(connected(protocol, url, 60.0))
            for protocol, url in (("grpc", server.grpc), ("http", server.http))
        ]

        def send(number: int) -> None:
            sent_s[number] = time.monotonic()
            transports[number % 2].classify([PROBE_IMAGE])

        with ThreadPoolExecutor(len(DUE_S)) as pool:
            asked, start_s = [], time.monotonic()
            for number, due_s in enumerate(DUE_S):
                time.sleep(max(0.0, start_s + due_s - time.monotonic()))
                asked.append(pool.submit(send, number))
    assert [future.exception() for future in asked] == [None] * len(DUE_S)
    stamps = trace.read([tmp_path / "t"], None, lambda _: None)
    got_s = np.sort(np.frombuffer(stamps.times_s, np.float64))
    assert len(got_s) == len(DUE_S)
    # Both clocks are the machine's: nothing arrives before it is sent. A machine of two cores that
    # does other work delays some by more than their gap, so only most of them are close.
    after_s = got_s - np.sort(sent_s)
    assert after_s.min() > 0
    assert np.median(after_s) < 0.02
    assert np.median(np.abs(np.diff(got_s) - np.diff(np.sort(sent_s)))) < 0.01
    # Serve's own probes, from the first one on, are no traffic.
    assert any("probes of tandem left out" in remark for remark in stamps.remarks)
    assert {piece.stat().st_mode & 0o777 for piece in trace.pieces([tmp_path / "t"])} == {0o600}

    out = tmp_path / "arrivals.json"
    assert main(["arrivals", "--trace", str(tmp_path / "t"), "--out", str(out)]) == 0
    assert f"{len(DUE_S)} arrivals in" in capsys.readouterr().out
    replayed_s = pattern(str(out)).times_s(None, read(out).duration_s, np.random.default_rng(0))
    np.testing.assert_allclose(replayed_s, got_s - got_s[0], atol=2e-6)  # to the microsecond
