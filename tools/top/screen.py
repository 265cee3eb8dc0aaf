"""The live view: a thread that reads, and a terminal that is drawn, and left as it was found."""

from __future__ import annotations

import contextlib
import curses
import locale
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from types import FrameType

from ensemble.errors import ContractMismatch, ServingError
from tools.top.render import page, render
from tools.top.text import Line, Style, cells, glyphs_for
from tools.top.view import View
from tools.top.watch import Watch

WAIT_MS = 200
"""For a key, before the next look at what has come."""
_STEPS = {curses.KEY_UP: -1, curses.KEY_DOWN: 1, ord("k"): -1, ord("j"): 1}
_PAGES = {curses.KEY_PPAGE: -1, curses.KEY_NPAGE: 1, ord(" "): 1}
_QUIT = frozenset(map(ord, "qQ"))
_ENDS = (signal.SIGTERM, signal.SIGHUP)
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


def check_terminal() -> None:
    """Nothing, where the live view can be shown.

    Raises:
        ContractMismatch: there is none, or one that can not move its cursor.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ContractMismatch("top: expected a terminal, got none; use --once for scripts")
    try:
        curses.setupterm()
        able = curses.tigetstr("cup") is not None
    except curses.error:
        able = False
    if not able:
        raise ContractMismatch(
            f"top: expected a terminal that can move its cursor, got TERM="
            f"{os.environ.get('TERM', '')}; use --once"
        )


def show(watch: Watch, first: View, interval_s: float) -> None:
    """Until a key says that it is enough, or the terminal is gone.

    Raises:
        KeyboardInterrupt: Ctrl-C; SystemExit: the terminal was closed, or somebody ended us.
    """
    locale.setlocale(locale.LC_ALL, "")
    found: queue.SimpleQueue[View | BaseException] = queue.SimpleQueue()
    reader = threading.Thread(
        target=_read, args=(watch, first.url, interval_s, found), daemon=True
    )  # a daemon, so that a server that does not answer keeps nobody from leaving
    with _signals_as_exits():
        reader.start()
        try:
            curses.wrapper(lambda window: _Screen(window, first).stay(found))
        except curses.error as error:
            if not _is_gone(_keyboard()):
                raise
            raise SystemExit(128 + signal.SIGHUP) from error  # it can't be put back any more


def _read(
    watch: Watch, url: str, interval_s: float, found: queue.SimpleQueue[View | BaseException]
) -> None:
    while True:
        time.sleep(interval_s)
        try:
            found.put(watch.look())
        except ServingError as error:
            found.put(View(url, fault=str(error)))
        except BaseException as error:
            found.put(error)  # ours; it is raised where somebody sees it
            return


def _keyboard() -> select.poll:
    keyboard = select.poll()
    keyboard.register(sys.stdin.fileno(), select.POLLIN)
    return keyboard


def _is_gone(keyboard: select.poll) -> bool:
    """Waits for a key, or for the end of the terminal, which a read takes for no key."""
    return any(event & _GONE for _, event in keyboard.poll(WAIT_MS))


@contextlib.contextmanager
def _signals_as_exits() -> Iterator[None]:
    """Exceptions, on which the terminal is put back, rather than an end on the spot."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    ends = [one for one in _ENDS if signal.getsignal(one) == signal.SIG_DFL]  # not after nohup
    for one in ends:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in ends:
            signal.signal(one, signal.SIG_DFL)


class _Screen:
    """What is on the terminal now.

    Args:
        window: of curses.
        view: to begin with.
    """

    def __init__(self, window: curses.window, view: View) -> None:
        self._window, self._view, self._offset = window, view, 0
        self._lines: dict[int, list[Line]] = {}  # of the view, by width
        self._glyphs = glyphs_for(locale.nl_langinfo(locale.CODESET))
        self._looks = _looks()
        window.nodelay(True)
        with contextlib.suppress(curses.error):  # not every terminal can
            curses.curs_set(0)

    def stay(self, found: queue.SimpleQueue[View | BaseException]) -> None:
        """Draw what is found, until it is enough."""
        keyboard = _keyboard()
        stays = True
        while stays:
            self._draw()
            stays = not _is_gone(keyboard) and self._obey()
            while not found.empty():
                self._take(found.get())

    def _take(self, found: View | BaseException) -> None:
        if isinstance(found, BaseException):
            raise found
        self._view = found
        self._lines.clear()

    def _obey(self) -> bool:
        """Every key that was pressed; whether to stay."""
        while (key := self._window.getch()) != curses.ERR:
            if key in _QUIT:
                return False
            pages = _PAGES.get(key, 0) * (self._window.getmaxyx()[0] - 2)
            self._offset += _STEPS.get(key, 0) + pages
        return True

    def _draw(self) -> None:
        height, width = self._window.getmaxyx()
        if width not in self._lines:
            self._lines[width] = render(self._view, width, self._glyphs)
        lines = self._lines[width]
        self._offset = max(0, min(self._offset, len(lines) - height))
        self._window.erase()
        for y, line in enumerate(page(lines, height, self._offset)):
            self._put(y, line)
        self._window.refresh()

    def _put(self, y: int, line: Line) -> None:
        x = 0
        for text, style in line:
            with contextlib.suppress(curses.error):  # it tells so of the last cell of the window
                self._window.addstr(y, x, text, self._looks[style])
            x += cells(text)


def _looks() -> Mapping[Style, int]:
    """Yellow waits and cyan computes: two colours that hardly anybody takes for each other."""
    looks = dict.fromkeys(Style, curses.A_NORMAL)
    looks |= {Style.STRONG: curses.A_BOLD, Style.DIM: curses.A_DIM, Style.WARNING: curses.A_BOLD}
    if curses.has_colors() and not os.environ.get("NO_COLOR"):
        curses.use_default_colors()
        curses.init_pair(1, curses.COLOR_YELLOW, -1)
        curses.init_pair(2, curses.COLOR_CYAN, -1)
        looks[Style.QUEUE] = curses.color_pair(1)
        looks[Style.WARNING] |= curses.color_pair(1)
        looks[Style.COMPUTE] = curses.color_pair(2)
    return looks
