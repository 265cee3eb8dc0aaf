"""``python -m tools.perf_analyzer``, which ``make perf-analyzer`` runs, gets the program."""

from __future__ import annotations

import sys

from ensemble.errors import ContractMismatch, ServingError
from tools.arguments import INTERRUPTED
from tools.perf_analyzer.install import install
from tools.perf_analyzer.program import FOLDER


def main() -> int:
    """Print where the program is, or say why it can't be."""
    try:
        path = install(FOLDER)
    except ServingError as error:
        sys.stderr.write(f"tools.perf_analyzer: {error.label}: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"tools.perf_analyzer: {error}\n")
        return ContractMismatch.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
