"""Calls overlap, but only so many, and their results keep the order of the input."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from ensemble.errors import CheckFailed
from tests.fakes.transport import CUP, FakeTransport, Turnstile
from tools.client.transport import Answer
from tools.client.window import in_order


def test_results_keep_the_order_of_the_input_however_they_arrive() -> None:
    rng = np.random.default_rng(1)
    concurrency = 4
    order = [int(base + n) for base in range(0, 40, 4) for n in rng.permutation(concurrency)]
    assert order != sorted(order)
    turnstile = Turnstile(order)

    def call(number: int) -> int:
        turnstile.pass_as(number)
        return number

    assert list(in_order(call, range(40), concurrency)) == list(range(40))


def test_calls_overlap_and_both_calls_and_items_are_bounded() -> None:
    taken: list[int] = []

    def items() -> Iterator[bytes]:
        for number in range(99):
            taken.append(number)
            yield b""

    three = threading.Barrier(3, timeout=10)

    def reply(image: bytes) -> Answer:
        three.wait()
        return CUP

    transport = FakeTransport(reply)
    results = in_order(lambda item: transport.classify([item]), items(), 3)
    for shown, _ in enumerate(results):
        assert len(taken) - shown <= 2 * 3
    assert len(taken) == 99
    assert transport.most_at_once == 3


def test_a_result_is_shown_before_a_slow_source_has_filled_the_window() -> None:
    shown = threading.Event()

    def items() -> Iterator[int]:
        for number in range(100):
            yield number
            if shown.wait(0.05):
                return
        pytest.fail("100 items were taken and no result was shown")

    for _ in in_order(str, items(), 100):
        shown.set()


def test_what_a_call_raises_is_raised_in_its_place() -> None:
    def call(number: int) -> int:
        if number == 2:
            raise CheckFailed("two")
        return number

    results = in_order(call, range(9), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(CheckFailed, match="two"):
        next(results)


def test_threads_end_with_the_last_result() -> None:
    before = set(threading.enumerate())
    assert list(in_order(str, range(9), 4)) == [str(number) for number in range(9)]
    assert set(threading.enumerate()) <= before


def test_closing_drops_what_has_not_begun_and_does_not_wait() -> None:
    before = set(threading.enumerate())
    all_taken, gate = threading.Event(), threading.Event()
    called: list[int] = []

    def items() -> Iterator[int]:
        yield from range(3)
        all_taken.set()
        yield 3

    def call(number: int) -> int:
        called.append(number)
        assert (gate if number else all_taken).wait(10)
        return number

    results = in_order(call, items(), 2)
    assert next(results) == 0
    results.close()  # 1 and perhaps 2 are in their calls, 3 is not
    assert not gate.is_set()
    gate.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert 1 in called
    assert 3 not in called
