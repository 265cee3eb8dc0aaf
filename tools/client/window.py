"""A bounded number of calls at a time, with the results in the order of the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    call: Callable[[Item], Result], items: Iterable[Item], concurrency: int
) -> Generator[Result, None, None]:
    """``call`` of each item, in the items' order, each as soon as those before it are there.

    At most ``2 * concurrency`` items are held at a time: those in the calls, and as many again
    so that one slow call does not leave the other threads idle. Closing the iterator drops what
    has not begun and waits for nothing.

    The threads are daemons and not a ThreadPoolExecutor's, because Python waits for the latter's
    at its end: Ctrl-C would hang for as long as a server that has died keeps a request open.

    Args:
        call: runs in several threads; what it raises is raised here, in its place.
        items: taken in this thread, as the window moves.
        concurrency: the most calls at a time.
    """
    inbox: SimpleQueue[tuple[Future[Result], Item] | None] = SimpleQueue()
    threads: list[Thread] = []
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(Future())
            inbox.put((waiting[-1], item))
            if len(threads) < concurrency:
                threads.append(Thread(target=_serve, args=(call, inbox), daemon=True))
                threads[-1].start()
            while waiting and (waiting[0].done() or len(waiting) >= 2 * concurrency):
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    finally:
        for future in waiting:
            future.cancel()
        for _ in threads:
            inbox.put(None)
        for thread in threads if not waiting else ():
            thread.join()  # each is idle, so this takes no time


def _first(waiting: deque[Future[Result]]) -> Result:
    result = waiting[0].result()  # stays in the window when this is interrupted
    waiting.popleft()
    return result


def _serve(
    call: Callable[[Item], Result], inbox: SimpleQueue[tuple[Future[Result], Item] | None]
) -> None:
    while (work := inbox.get()) is not None:
        future, item = work
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call(item))
            except BaseException as error:
                future.set_exception(error)
