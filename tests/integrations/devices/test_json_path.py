"""Paths into JSON."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.schema import Invalid
from integrations.devices.json_path import checked_path, first_at

DATA = {"a": {"b": [{"c": 1}, {"c": 2}]}, "x y": {"e-f": [3]}, "n": {"5": 6}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", DATA),
        ("$.a.b[1].c", 2),
        ("a.b[-1].c", 2),
        ("$['x y'][\"e-f\"][0]", 3),
        ("$.a.b[*].c", 1),
        ("$..c", 1),
        ("$.a.*", [{"c": 1}, {"c": 2}]),
        ("$..b[1]", {"c": 2}),
        ("$.n.5", 6),
        ("$.a.nothing.c", None),
        ("$.a.b[7]", None),
    ],
)
def test_a_path_points_at_the_first(path: str, found: Any) -> None:
    assert first_at(DATA, checked_path(path)) == found


@pytest.mark.parametrize("path", ["$.a[?(@.c==1)]", "$.a[0:2]", "$.a[(@.length-1)]", "$.a["])
def test_what_does_more_than_point_is_refused(path: str) -> None:
    with pytest.raises(Invalid, match="without filters"):
        checked_path(path)
