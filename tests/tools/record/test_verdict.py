"""The sentence says what the record shows, what it does not, and never more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.fakes.records import BASELINE, CLOSED, INTERACTIVE, OPEN, Noise, Server, record
from tools.record.intervals import Estimate
from tools.record.record import Kind
from tools.record.verdict import CLOSED_LOOP, _no_difference, verdict
from tools.record.words import higher, inverse, lower

TWIN = replace(INTERACTIVE, name="twin")
QUIET = Noise(cell=0.01, round=0.02)


def test_a_gain_is_told_at_equal_slo_and_at_equal_load_with_its_least_and_its_most() -> None:
    told = verdict(record(noise=QUIET))
    sentence = told.sentence
    assert sentence.startswith("In a closed loop, interactive serves 2.")
    assert "times the images of baseline within p95 ≤ 50 ms [2." in sentence
    assert "interactive's p95 is lower at 3 of 4 loads, by " in sentence
    assert " at 4 callers to 70% [" in sentence
    assert sentence.endswith(" callers.")
    assert told.notes == (CLOSED_LOOP,)
    assert told.at_equal_load
    assert told.at_equal_slo


def test_the_winner_comes_first_whoever_was_named_first() -> None:
    told = verdict(record((INTERACTIVE, BASELINE), noise=QUIET))
    assert "interactive serves 2." in told.sentence
    assert "the images of baseline" in told.sentence


def test_each_ones_wins_are_told() -> None:
    """Slower alone, faster together: the usual price of a batch."""
    patient = replace(INTERACTIVE, name="patient", base_ms=11.0, image_ms=1.0)
    sentence = verdict(record((INTERACTIVE, patient), noise=QUIET)).sentence
    assert "patient's p95 is lower at 2 of 4 loads" in sentence
    assert "interactive's p95 is lower at 2 of 4 loads, by" in sentence
    assert "at 1 caller" in sentence


def test_twins_are_told_apart_by_nothing_and_what_could_have_been_seen_is_said() -> None:
    sentence = verdict(record((INTERACTIVE, TWIN), noise=QUIET)).sentence
    assert sentence.startswith(
        "In a closed loop, no difference beyond noise between twin and interactive: one of "
    )
    assert "% over all, would mostly have been seen." in sentence


def test_what_noise_hides_is_not_put_into_a_number_that_nobody_believes() -> None:
    """Of three rounds that spread by factors, tens of thousands of per cent would come out."""
    wild = Noise(cell=1.5)
    sentence = verdict(record((INTERACTIVE, TWIN), rounds=3, noise=wild)).sentence
    assert sentence == (
        "In a closed loop, no difference can be told between twin and interactive: "
        "even twice the p95 may be hidden by noise."
    )


def test_where_one_load_hides_everything_what_all_loads_show_is_told() -> None:
    found = verdict(record((INTERACTIVE, TWIN), noise=QUIET)).at_equal_load
    at_load, over_all = found[0], found[len(CLOSED)]
    told = _no_difference([replace(at_load, detectable=9.0), replace(over_all, detectable=0.4)])
    assert told == (
        "no difference beyond noise between twin and interactive: "
        "one of 40% or more in p95 over all loads would mostly have been seen"
    )


def test_a_target_alone_is_told_curve_by_curve() -> None:
    alone = verdict(record((BASELINE,), (*CLOSED, *OPEN), 3, protocols=("grpc", "http"))).sentence
    assert alone.count("In a closed loop over grpc, baseline ") == 1
    assert alone.count("In a closed loop over http, baseline ") == 1
    assert alone.count("With poisson arrivals over http, baseline ") == 1
    free = record((BASELINE,), CLOSED[:1], 3, protocols=("grpc", "http"), slo_p95_ms=None)
    assert "p95 at 1 caller over http is " in verdict(free).sentence


def test_a_small_gain_everywhere_is_told_over_all_loads() -> None:
    slower = replace(INTERACTIVE, name="slower", base_ms=8.6, image_ms=2.15)
    noise = Noise(cell=0.025, round=0.02)

    def told(seed: int) -> str:
        random = np.random.default_rng(seed)
        of = record((INTERACTIVE, slower), CLOSED[:3], 5, random, noise=noise, slo_p95_ms=None)
        return verdict(of).sentence

    # Chance decides where a gain shows: nowhere, at a load, or only over all of them.
    sentences = [told(seed) for seed in range(30)]
    assert any("interactive's p95 is lower over all loads, by " in one for one in sentences)


def test_an_open_loop_needs_no_warning_and_a_bound_is_said_to_be_one() -> None:
    told = verdict(record(loads=OPEN))
    assert told.sentence.startswith("With poisson arrivals, interactive serves at least ")
    assert told.notes == ()


def test_requests_of_several_images_are_not_called_images() -> None:
    told = verdict(record(mix=(Kind("all", rows=8),), noise=QUIET))
    assert "times the requests of baseline" in told.sentence


def test_failures_are_told_and_decide() -> None:
    refusing = Server("refusing", base_ms=4.0, image_ms=1.0, refused=0.5)
    told = verdict(record((INTERACTIVE, refusing), OPEN))
    assert "interactive's p95 is lower at 4 of 4 loads (too many requests failed" in told.sentence
    (note,) = told.notes
    assert note.startswith("refusing failed 50% of its requests, most often too_busy.")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cells": ()}, "Nothing can be said: nothing was measured."),
        ({"rounds": 2}, "noise is known from 3 rounds on, and 2 count."),
        ({"rounds": 1}, "noise is known from 3 rounds on, and 1 counts."),
        ({"rounds": 1}, "no difference can be told between interactive and baseline"),
        ({"targets": (BASELINE,)}, "baseline serves "),
        ({"targets": (BASELINE,), "slo_p95_ms": 1.0}, "is outside p95 ≤ 1 ms already at the least"),
        ({"targets": (BASELINE,), "slo_p95_ms": 1e6}, "baseline serves at least "),
        ({"targets": (BASELINE,), "slo_p95_ms": None}, "baseline's p95 at 1 caller is 13"),
        (
            {"targets": (BASELINE,), "slo_p95_ms": None, "duration_s": 0.1, "loads": CLOSED[:1]},
            "1 caller is not known.",
        ),
    ],
)
def test_where_little_is_known_little_is_said(fields: dict[str, object], words: str) -> None:
    assert words in verdict(record(**fields)).sentence  # type: ignore[arg-type]


def test_where_no_cell_counts_the_most_frequent_reason_is_told() -> None:
    given = record(rounds=3)
    reasons = ["the schedule was not kept"] * 20 + ["the server went away"] * 4
    pairs = zip(given.cells, reasons, strict=True)
    cells = tuple(replace(cell, unused=reason) for cell, reason in pairs)
    told = verdict(replace(given, cells=cells, interrupted=True))
    assert told.sentence == (
        "Nothing can be said: no cell counts (the schedule was not kept, and other reasons)."
    )
    assert "The run was interrupted: this is what was measured until then." in told.notes
    assert any(note.startswith("24 of 24 cells do not count") for note in told.notes)
    told = verdict(replace(given, cells=(*cells[:1], *given.cells[1:])))
    assert any(note.startswith("1 of 24 cells does not count") for note in told.notes)


def test_several_protocols_and_targets_get_a_sentence_each() -> None:
    told = verdict(record((BASELINE, INTERACTIVE, TWIN), protocols=("grpc", "http")))
    assert told.sentence.count("In a closed loop over grpc, ") == 2
    assert told.sentence.count("In a closed loop over http, ") == 2


def test_a_name_from_a_file_can_not_command_a_terminal() -> None:
    hostile = replace(INTERACTIVE, name="\x1b[2J\nbad\u202e")
    told = verdict(record((BASELINE, hostile), noise=QUIET))
    assert "?[2J?bad?" in told.sentence
    assert told.sentence.isprintable()


def test_cells_without_requests_say_nothing() -> None:
    given = record(rounds=1)
    columns = vars(given.cells[0].samples)
    empty = replace(
        given.cells[0].samples, **{name: column[:0] for name, column in columns.items()}
    )
    told = verdict(replace(given, cells=tuple(replace(c, samples=empty) for c in given.cells)))
    assert told.sentence == "Nothing can be said: no request was recorded."


def test_ratios_in_words() -> None:
    assert lower(Estimate(0.76, 0.7, 0.82)) == "24% [18 to 30]"
    assert lower(Estimate(0.015, 0.013, 0.017)) == "98.5% [98.3 to 98.7]"
    assert higher(Estimate(1.31, 1.22, 1.41)) == "31% [22 to 41]"
    assert higher(Estimate(3.5)) == "250%"
    back = inverse(Estimate(0.5, 0.4, 0.8))
    assert np.allclose([back.value, back.low or 0, back.high or 0], [2.0, 1.25, 2.5])
