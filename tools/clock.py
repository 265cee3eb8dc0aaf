"""Time, as something that is passed in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Clock:
    """Time, which tests make up."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def wait(self, condition: Callable[[], bool], timeout_s: float, every_s: float = 0.05) -> bool:
        """Whether the condition came true in time."""
        deadline_s = self.now_s() + timeout_s
        while not condition():
            if self.now_s() >= deadline_s:
                return False
            self.sleep(every_s)
        return True
