"""``python -m benchmarks`` is ``make bench``."""

import sys

from benchmarks.serving import main

sys.exit(main())
