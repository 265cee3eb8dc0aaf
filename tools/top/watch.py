"""Read a server again and again: what it did between one look and the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ensemble.errors import DeadlineExceeded, ModelUnavailable
from tools.doctor.window import check_names, stage_of
from tools.statistics.address import Address, reach
from tools.statistics.configuration import Config, read_config
from tools.statistics.counters import Model
from tools.statistics.metrics import Metrics
from tools.statistics.snapshot import Snapshot, are_foreign, take
from tools.top.rows import chosen, rows_of
from tools.top.view import View

LOADS_KEPT_S = 60.0
_UNKNOWN = Config(backend="", max_batch_size=0, instances=None)
"""Of a model that leaves while it is looked at, or does not say."""


@dataclass
class Watch:
    """One server, whatever becomes of it.

    Attributes:
        url: as it was typed.
        metrics_url: as it was typed; None is the usual port.
        models: names, which are shown with their stages; none is all of them.
        now_s: monotonic clock.
    """

    url: str
    metrics_url: str | None = None
    models: Sequence[str] = ()
    now_s: Callable[[], float] = time.monotonic
    _address: Address | None = None
    _before: Snapshot | None = None
    _configs: dict[Model, Config] = field(default_factory=dict)
    _loaded_s: dict[Model, float] = field(default_factory=dict)

    def look(self) -> View:
        """What the server did since the last look.

        The first look, and the one after a fault, has nothing to compare with and so no rows: it
        may be another life of the server.

        Raises:
            ServingError: it does not answer; ContractMismatch when it never had such a model.
        """
        address, before = self._address, self._before
        self._address = self._before = None
        try:
            address = address or reach(self.url, self.metrics_url)
            now = take(address.url, address.metrics_url, self.now_s)
            if not self._configs:
                check_names(self.models, now)
            view = self._seen(address, before or now, now)
        except DeadlineExceeded as error:  # no deadline of the caller's: it is not to be had
            raise ModelUnavailable(str(error)) from error
        self._address, self._before = address, now
        return view

    def _seen(self, address: Address, before: Snapshot, now: Snapshot) -> View:
        foreign = are_foreign([before, now])
        pair = [replace(one, metrics=None) if foreign else one for one in (before, now)]
        self._update(address.url, before, now)
        stages = [stage_of(model, self._configs[model], pair) for model in now.counters]
        metrics = pair[1].metrics or Metrics()
        return View(
            url=address.url,
            version=address.version,
            rows=rows_of(chosen(stages, self.models), metrics) if before is not now else (),
            window_s=now.at_s - before.at_s,
            metrics_url=address.metrics_url if pair[1].metrics else None,
            foreign_metrics_url=address.metrics_url if foreign else None,
            has_quantiles=metrics.has_quantiles,
            cpu_utilisation=metrics.cpu_utilisation,
            gpus=metrics.gpus,
            loads={model: now.at_s - at_s for model, at_s in self._loaded_s.items()},
        )

    def _update(self, url: str, before: Snapshot, now: Snapshot) -> None:
        """What is known of each model, read again when it may have changed."""
        kept = {model: at_s for model, at_s in self._loaded_s.items() if model in now.counters}
        for model, counters in now.counters.items():
            earlier = before.counters.get(model)
            if earlier is None or not earlier.is_before(counters):
                kept[model] = now.at_s
            was_idle = earlier is not None and earlier.requests == 0 < counters.requests
            is_new = before is now or kept.get(model) == now.at_s or was_idle
            if is_new or self._configs.get(model, _UNKNOWN) is _UNKNOWN:
                self._configs[model] = _config(url, model)
        self._loaded_s = {m: s for m, s in kept.items() if now.at_s - s <= LOADS_KEPT_S}


def _config(url: str, model: Model) -> Config:
    try:
        return read_config(url, model)
    except ModelUnavailable:
        return _UNKNOWN
