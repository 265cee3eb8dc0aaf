"""``python -m tools`` is the same as ``tandem``."""

import sys

from tools.cli import main

sys.exit(main())
