"""Which cause explains the difference: each is tried on the server's recipe, and the best wins.

Pictures are explained in rounds. Of a few that are not yet explained, the cause that explains most
is taken, and every picture that it explains is done with; what no single cause explains is tried
with two together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from tools.validate.parity.causes import Cause, causes, fitted
from tools.validate.parity.pictures import Picture
from tools.validate.parity.recipe import Recipe
from tools.validate.rules import preprocessing as rules

Array = np.ndarray[Any, Any]

_SAMPLE = 3  # pictures that a cause is chosen on; it is then tried on all
_MOST_TRIED = 6  # pictures in vain, before the rest is left alone: two together take seconds each
_LEADING = 4  # of two causes together, one must be among the best of those alone
_AS_GOOD_LEVELS = 0.15  # of causes that are this close, the more specific wins
_MOSTLY = 0.25  # a cause that leaves less than this share is named although it leaves something


Trial = tuple[Cause, ...]
"""One cause, or two together."""


@dataclass(frozen=True, eq=False)
class Case:
    """A picture that differs.

    Attributes:
        picture: the encoded image.
        reference: what training feeds, of the shape that the server feeds, float32.
        before: mean difference, levels.
    """

    picture: Picture
    reference: Array
    before: float

    def explained_by(self, after: float) -> bool:
        """Whether that is all that is left of the difference, levels."""
        return after <= min(self.picture.tolerance_levels, self.before / 2)


@dataclass(frozen=True)
class Diagnosis:
    """Pictures that differ for one reason.

    Attributes:
        causes: one or two; none where nothing explains it.
        after: each picture, and the mean difference that is left of it, levels.
    """

    causes: Trial
    after: dict[Case, float]


def diagnose(cases: Sequence[Case], recipe: Recipe) -> Iterator[Diagnosis]:
    """Why they differ; every case is in exactly one diagnosis.

    Args:
        cases: pictures that differ by more than the tolerance.
        recipe: the server's.
    """
    search = _Search(recipe)
    left = sorted(cases, key=lambda case: (case.picture.generated, -case.before))
    left = yield from search.rounds(left, search.singles, _SAMPLE)
    left = yield from search.rounds(left, search.several, 1)
    yield from map(search.nearest, left)


class _Search:
    """Trials on one recipe.

    Attributes:
        every: the causes that are tried.
        known: those that explained something already; they are likely to have a part in the rest.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.every = causes(recipe)
        self.known: list[Cause] = []
        self._least: dict[Case, tuple[float, Trial]] = {}

    def rounds(
        self, cases: list[Case], trials: Callable[[list[Case]], list[Trial]], sample_size: int
    ) -> Generator[Diagnosis, None, list[Case]]:
        """Diagnoses by these trials; returns the cases that none of them explains."""
        unexplained: list[Case] = []
        while cases and len(unexplained) < _MOST_TRIED:
            sample, rest = cases[:sample_size], cases[sample_size:]
            best = self._best(sample, trials(sample))
            after = {case: self._off(best, case) for case in cases}
            done = {case: off for case, off in after.items() if case.explained_by(off)}
            if done:
                yield Diagnosis(best, done)
                self.known += [cause for cause in best if cause not in self.known]
                cases = [case for case in cases if case not in done]
            else:
                unexplained, cases = unexplained + sample, rest
        return unexplained + cases

    def singles(self, cases: list[Case]) -> list[Trial]:
        """Each cause alone, and the mean and std that fit each of the cases."""
        fits = (fitted(self._recipe, case.picture.encoded, case.reference) for case in cases)
        return [
            *((cause,) for cause in self.every),
            *self._roundings(),
            *((fit,) for fit in fits if fit),
        ]

    def _roundings(self) -> Iterator[Trial]:
        """Sides and offsets rounded in another way: what frameworks do belongs together."""
        places = (rules.SIZE_ROUNDING, rules.CROP_OFFSET)
        sizes, offsets = ([c for c in self.every if c.rule is rule] for rule in places)
        return (pair for pair in product(sizes, offsets[:2]) if self._differ(pair))

    def several(self, cases: list[Case]) -> list[Trial]:
        """Known causes together where they explain a case; otherwise any two, or one and a fit."""
        case = cases[0]
        together = [t for n in (2, 3) for t in combinations(self.known, n) if self._differ(t)]
        if any(case.explained_by(self._off(trial, case)) for trial in together):
            return together
        return list(self._pairs(case))

    def nearest(self, case: Case) -> Diagnosis:
        """What left least of a case, if that is little against what was there before."""
        after, best = self._least.get(case, (np.inf, ()))
        if after <= min(_MOSTLY * case.before, 2 * case.picture.tolerance_levels):
            return Diagnosis(best, {case: after})
        return Diagnosis((), {case: case.before})

    def _pairs(self, case: Case) -> Iterator[Trial]:
        """Two of which one is among the best alone; and each with the mean and std that fit."""
        leading = sorted(self.every, key=lambda cause: self._off((cause,), case))[:_LEADING]
        for pair in combinations(self.every, 2):
            if (pair[0] in leading or pair[1] in leading) and self._differ(pair):
                yield pair
        for cause in self.every:
            fit = fitted(cause.change(self._recipe), case.picture.encoded, case.reference)
            if fit is not None:
                yield cause, fit

    def _differ(self, trial: Trial) -> bool:
        """Whether each of the causes changes what the others leave, in any order."""
        done = {self._changed(order) for order in permutations(trial)}
        fewer = (self._changed(trial[:n] + trial[n + 1 :]) for n in range(len(trial)))
        return len(done) == 1 and done.isdisjoint(fewer)

    def _best(self, cases: list[Case], trials: list[Trial]) -> Trial:
        """That which explains most cases; of those as good, the first."""
        scores = []
        for trial in trials:
            after = [self._off(trial, case) for case in cases]
            for case, left in zip(cases, after, strict=True):
                if left < self._least.get(case, (np.inf, ()))[0]:
                    self._least[case] = (left, trial)
            explained = sum(map(Case.explained_by, cases, after))
            scores.append((explained, sum(map(min, after, (case.before for case in cases)))))
        most = max(explained for explained, _ in scores)
        least = min(total for explained, total in scores if explained == most)
        slack = _AS_GOOD_LEVELS * len(cases)
        return next(
            trial
            for trial, (explained, total) in zip(trials, scores, strict=True)
            if explained == most and total <= least + slack
        )

    def _off(self, trial: Trial, case: Case) -> float:
        """Mean difference, levels, if the server did as the trial says."""
        return self._changed(trial).off(case.picture.encoded, case.reference)

    def _changed(self, trial: Trial) -> Recipe:
        return reduce(lambda recipe, cause: cause.change(recipe), trial, self._recipe)
