"""``python -m benchmarks.peers.install``: each peer's own environment, made from its pins."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

from benchmarks.peers.catalogue import PEERS, TANDEM, Peer
from benchmarks.peers.chain import ROOT

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = ROOT / ".tandem" / "peers"


class NotInstalled(Exception):
    """An environment that could not be made; pip's last words are the message."""


def python_of(peer: Peer) -> Path:
    """The Python that runs the peer's server."""
    if peer.folder == TANDEM.folder:
        return Path(sys.executable)
    return ENVIRONMENTS / peer.folder / "bin" / "python"


def requirements_of(peer: Peer) -> Path:
    """Its pins."""
    return HERE / peer.folder / "requirements.txt"


def ensure(peer: Peer) -> None:
    """Make the peer's environment, unless it is there and its pins are the same.

    Raises:
        NotInstalled: the environment could not be made, or pip failed.
    """
    if peer.folder == TANDEM.folder:
        return
    folder, pins = ENVIRONMENTS / peer.folder, requirements_of(peer).read_text(encoding="utf-8")
    stamp = folder / "installed.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == pins:
        return
    print(f"installing {peer.title} into {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:  # the latter: no ensurepip
        raise NotInstalled(str(error)) from error
    command = [str(python_of(peer)), "-m", "pip", "install", "--quiet", "--requirement"]
    done = subprocess.run([*command, str(requirements_of(peer))], capture_output=True, text=True)
    if done.returncode:
        raise NotInstalled(done.stderr.strip()[-500:])
    stamp.write_text(pins, encoding="utf-8")


def versions(peer: Peer) -> dict[str, str]:
    """Of the packages that matter, in the peer's environment.

    Raises:
        NotInstalled: one of them is not there.
    """
    script = "import sys, json, importlib.metadata as m\n"
    script += "print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"
    command = [str(python_of(peer)), "-c", script, *peer.packages]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotInstalled(done.stderr.strip()[-500:])
    return dict(json.loads(done.stdout))


def main(peers: Iterable[Peer] = PEERS) -> int:
    """Install all; one that fails is said and does not stop the others."""
    failed = 0
    for peer in peers:
        try:
            ensure(peer)
        except NotInstalled as error:
            failed = 1
            print(f"{peer.title}: {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
