"""Moments as people name them, and plain data at the door."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from hub.core.errors import InvalidRequest
from hub.core.schema import Invalid
from hub.gateway.calls.moments import moment
from hub.gateway.calls.plain_data import as_json, plain_mapping

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 7, 1, 12, 0, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-05-01T07:00", datetime(2026, 5, 1, 7, 0, tzinfo=BERLIN)),
        ("2026-05-01T07:00+00:00", datetime(2026, 5, 1, 7, 0, tzinfo=UTC)),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=BERLIN)),
        ("07:30", datetime(2026, 7, 1, 7, 30, tzinfo=BERLIN)),
        ("07:30:15", datetime(2026, 7, 1, 7, 30, 15, tzinfo=BERLIN)),
        ("7d", datetime(2026, 6, 24, 12, 0, tzinfo=BERLIN)),
        (" 1h 30m ", datetime(2026, 7, 1, 10, 30, tzinfo=BERLIN)),
    ],
)
def test_a_moment_is_understood(text: str, found: datetime) -> None:
    assert moment(text, NOON, BERLIN, "at") == found.timestamp()


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "-7d", "9999999-01-01", "x" * 64])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="since: expected a time"):
        moment(text, NOON, BERLIN, "since")


def deep(levels: int) -> dict[str, Any]:
    return {"a": deep(levels - 1)} if levels else {}


@pytest.mark.parametrize(
    "value", [None, [], "x", {"a": float("nan")}, {"a": [float("inf")]}, deep(21), {"a": [0] * 10_001}]
)
def test_what_is_not_plain_is_refused(value: Any) -> None:
    with pytest.raises(Invalid):
        plain_mapping(value)


def test_what_is_plain_passes_as_it_is() -> None:
    value = {"a": [1, {"b": None}], "c": deep(10)}

    assert plain_mapping(value) is value


def test_everything_can_be_told_as_json() -> None:
    loop: list[Any] = []
    loop.append(loop)
    told = as_json(
        {
            1: 2**70,
            "s": {3},
            "t": (1,),
            "p": re.compile("x"),
            "d": datetime(2026, 1, 1, tzinfo=UTC),
            "o": object,
            "l": loop,
        }
    )

    assert (told["1"], told["s"], told["p"], told["d"]) == (str(2**70), [3], "x", "2026-01-01T00:00:00+00:00")
    assert orjson.dumps(told)
