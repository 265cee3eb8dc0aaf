"""``python -m tools.example`` builds the example classifier, by default where Triton loads it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ensemble.errors import ServingError
from tools.example.efficientnet_lite0 import ensure

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the path of the model, which holds the expected bytes, or say why it can't."""
    parser = argparse.ArgumentParser(prog="python -m tools.example", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=REPOSITORY / "classifier" / "1" / "model.onnx",
        help="file to write, unless it is right already (default: %(default)s)",
    )
    try:
        path = ensure(parser.parse_args(arguments).out)
    except ServingError as error:
        sys.stderr.write(f"tools.example: {error.label}: {error}\n")
        return error.exit_code
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
