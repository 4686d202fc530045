"""Metrics in the text format of Prometheus: counters, summaries and histograms with bounded labels.

Written here because the format is a page long; importing prometheus_client takes 180 ms.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

SERIES_LIMIT = 200
"""Label sets of one metric; what comes after them is counted as `other`: names of tools come from outside."""
OTHER = "other"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]
Sample = tuple[str, Mapping[str, str], float]


class Metric:
    """One metric: its name, type and help, and a value for each set of labels.

    Args:
        kind: counter or gauge.
        names: The names of its labels.
        limit: How many sets of labels are told apart.
    """

    def __init__(self, name: str, kind: str, help: str, *names: str, limit: int = SERIES_LIMIT) -> None:
        self.name, self.kind, self.help = name, kind, help
        self._limit = limit
        self._names = names
        self._values: dict[Labels, float] = {}

    def add(self, amount: float, *labels: str) -> None:
        """Add to the value of a set of labels."""
        key = self._bounded(labels, self._values)
        self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, value: float, *labels: str) -> None:
        """Set the value of a set of labels."""
        self._values[self._bounded(labels, self._values)] = value

    def samples(self) -> Iterator[Sample]:
        """Yield its samples: name, labels, value."""
        for labels, value in self._values.items():
            yield self.name, self._named(labels), value

    def _named(self, labels: Labels) -> dict[str, str]:
        return dict(zip(self._names, labels, strict=True))

    def _bounded(self, labels: Labels, known: Mapping[Labels, object]) -> Labels:
        return labels if labels in known or len(known) < self._limit else (OTHER,) * len(self._names)


class Histogram(Metric):
    """How long something took, in seconds.

    Args:
        bounds: The upper bounds of its buckets, rising; without any it is a summary.
    """

    def __init__(self, name: str, help: str, *names: str, bounds: Sequence[float] = ()) -> None:
        super().__init__(name, "histogram" if bounds else "summary", help, *names)
        self._bounds = tuple(bounds)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, seconds: float, *labels: str) -> None:
        """Count one more."""
        key = self._bounded(labels, self._counts)
        counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + seconds

    def samples(self) -> Iterator[Sample]:
        """Yield its samples."""
        for labels, counts in self._counts.items():
            named, total = self._named(labels), 0
            for bound, count in zip((*map(str, self._bounds), "+Inf"), counts, strict=True):
                total += count
                if self._bounds:
                    yield f"{self.name}_bucket", {**named, "le": bound}, total
            yield f"{self.name}_sum", named, self._sums[labels]
            yield f"{self.name}_count", named, total


def encode(metrics: Iterable[Metric]) -> str:
    """Return metrics as Prometheus reads them."""
    lines = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
        for name, labels, value in metric.samples():
            shown = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
            lines.append(f"{name}{{{shown}}} {value}" if shown else f"{name} {value}")
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
