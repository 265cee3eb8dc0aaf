"""A recording of arrivals: a run for each server, never more on the disk than was asked for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ensemble.errors import ContractMismatch, ModelUnavailable
from tools.arrivals import trace
from tools.cli import main
from tools.serve import health
from tools.serve.installation import Installation
from tools.serve.options import ServeOptions, command
from tools.serve.recording import Recording
from tools.serve.serve import Server, Stopping

OTHERS = ("t", "t.3", "t.9.9.9", "t.1.x", "tt.1.0", "t.1.0.part")


def recording(folder: Path, max_bytes: int = 1000) -> Recording:
    return Recording(folder / "t", max_bytes)


def written(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"x" * 100)


def left(folder: Path) -> list[str]:
    return [piece.path.name for piece in recording(folder).pieces()]


def test_each_server_writes_a_run_of_its_own(tmp_path: Path) -> None:
    assert recording(tmp_path).flags()[0] == f"--trace-config=triton,file={tmp_path}/t.1"
    written(tmp_path, "t.1.0", "t.9.0", "t.10.0", *OTHERS)
    flags = recording(tmp_path).flags()
    assert flags[0] == f"--trace-config=triton,file={tmp_path}/t.11"
    assert "--trace-config=rate=1" in flags
    assert "--trace-config=level=TIMESTAMPS" in flags


def test_the_server_is_told_only_when_it_is_asked_for(tmp_path: Path) -> None:
    installation = Installation(Path("tritonserver"))
    for asked, said in ((recording(tmp_path), 5), (None, 0)):
        options = ServeOptions(Path(), "token", "prefix_", recording=asked)
        words = command(installation, options)
        assert sum(word.startswith("--trace-config") for word in words) == said


def test_pieces_are_told_apart_from_other_files_and_ordered_by_number(tmp_path: Path) -> None:
    written(tmp_path, "t.2.0", "t.10.0", "t.2.10", "t.2.9", *OTHERS)
    assert left(tmp_path) == ["t.2.0", "t.2.9", "t.2.10", "t.10.0"]


def test_the_oldest_pieces_go_first_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path, *OTHERS, "t.1.0", "t.1.1", "t.2.0", "t.2.1")
    recording(tmp_path, 400).limit()
    assert left(tmp_path) == ["t.1.0", "t.1.1", "t.2.0", "t.2.1"]
    recording(tmp_path, 399).limit()
    assert left(tmp_path) == ["t.1.1", "t.2.0", "t.2.1"]
    recording(tmp_path, 150).limit()
    assert left(tmp_path) == ["t.2.1"]
    recording(tmp_path, 1).limit()
    assert left(tmp_path) == ["t.2.1"]
    assert all((tmp_path / name).exists() for name in OTHERS)


def test_the_reader_finds_what_the_server_writes(tmp_path: Path) -> None:
    written(tmp_path, "t.2.0", "t.1.1", "t.1.0")
    pieces = [piece.path for piece in recording(tmp_path).pieces()]
    assert trace.pieces([tmp_path / "t"]) == pieces


def test_a_folder_that_is_gone_ends_no_server(tmp_path: Path) -> None:
    one = recording(tmp_path / "folder")
    one.file.parent.mkdir()
    shutil.rmtree(one.file.parent)
    one.limit()
    assert one.flags()[0].endswith("t.1")


def test_a_piece_that_somebody_else_deletes_ends_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "t.1.0", "t.1.1")
    pieces = recording(tmp_path).pieces()
    (tmp_path / "t.1.0").unlink()
    monkeypatch.setattr(Recording, "pieces", lambda self: pieces)
    recording(tmp_path, 1).limit()


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    # Root may write to /proc, says its mode; yet no file can be made there.
    places = (tmp_path / "no" / "t", tmp_path / "folder", tmp_path / "file" / "t", Path("/proc/t"))
    for file in places:
        with pytest.raises(ContractMismatch, match="expected a file in a folder that can be"):
            Recording(file, 1).check(())


def test_tracing_to_two_places_is_refused(tmp_path: Path) -> None:
    recording(tmp_path).check(("--log-verbose=1",))
    with pytest.raises(ContractMismatch, match="expected --record-arrivals or"):
        recording(tmp_path).check(("--trace-config=rate=7",))


def test_the_command_line_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--record-arrivals", str(tmp_path / "no" / "t")]) == 2
    assert "--record-arrivals" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["serve", "--record-arrivals-mb", "0"])


@pytest.mark.parametrize(
    ("records", "steps"), [(True, ["written", "stopped"]), (False, ["stopped"])]
)
def test_a_recording_is_written_before_the_server_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: bool, steps: list[str]
) -> None:
    """With a connection that stays open, Triton ends by its own time limit, and writes nothing."""
    seen: list[str] = []

    class Process:
        def stop(self) -> None:
            seen.append("stopped")

    def end_trace(http_url: str, token: str) -> None:
        seen.append("written")
        raise ModelUnavailable("a server that is gone is stopped all the same")

    monkeypatch.setattr(health, "end_trace", end_trace)
    asked = recording(tmp_path) if records else None
    options = ServeOptions(Path(), "token", "prefix_", recording=asked)
    server = Server(Installation(Path("tritonserver")), options, Path("log"), Stopping())
    server._process = Process()  # type: ignore[assignment]
    server.stop()
    assert seen == steps
