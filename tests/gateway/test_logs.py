"""The log: filtered by level and part, and as JSON; what the redactor took out stays out."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from hub.gateway.log_tail import JsonFormatter, LogTail
from hub.security.redaction import RedactingFilter, Redactor

SECRET = "correct-horse-battery"


@pytest.fixture
def redactor() -> Redactor:
    found = Redactor()
    found.register(SECRET)
    return found


HEARD = ("hub.messaging", "integrations.devices.mqtt")
"""What the tests log by; threads of other tests may still say something by others."""


@pytest.fixture
def tail(redactor: Redactor) -> Iterator[LogTail]:
    found = LogTail(redactor)
    heard = [logging.getLogger(name) for name in HEARD]
    for logger in heard:
        logger.addHandler(found)
    yield found
    for logger in heard:
        logger.removeHandler(found)


def texts(lines: list[str]) -> list[str]:
    return [line.rpartition(": ")[2] for line in lines]


def test_lines_are_chosen_by_level_and_by_part_with_their_tracebacks(tail: LogTail) -> None:
    outbox, mqtt = logging.getLogger("hub.messaging.outbox"), logging.getLogger("integrations.devices.mqtt.client")
    outbox.warning("late\nand more")
    mqtt.warning("gone")
    mqtt.error("broken")

    assert texts(tail.read(level="ERROR").lines) == ["broken"]
    assert texts(tail.read(part="messaging").lines) == ["late", "and more"]
    assert texts(tail.read(part="hub.messaging").lines) == ["late", "and more"]
    assert texts(tail.read(part="mqtt", level="WARNING").lines) == ["gone", "broken"]
    assert tail.read(part="hub.mess").lines == []


def test_following_goes_on_behind_lines_that_were_filtered_out(tail: LogTail) -> None:
    logger = logging.getLogger("hub.messaging")
    logger.error("first")
    cursor = tail.read(level="ERROR").cursor
    for number in range(20):
        logger.warning("%d", number)
    logger.error("second")

    after = tail.read(cursor, limit=5, level="ERROR")

    assert (texts(after.lines), after.lost) == (["second"], False)
    assert tail.read(cursor, limit=5).lost


def test_a_record_is_one_line_of_json_and_says_no_secret(redactor: Redactor) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RedactingFilter(redactor))
    logger = logging.getLogger("test.json")
    logger.addHandler(handler)
    try:
        raise ValueError(f"no {SECRET}\nhere")
    except ValueError:
        logger.exception("failed with %s\nand \u2028 so on", SECRET)
    logger.removeHandler(handler)

    [line] = stream.getvalue().split("\n")[:-1]
    record = json.loads(line)
    assert SECRET not in line
    assert (record["level"], record["part"]) == ("ERROR", "test.json")
    assert record["message"] == "failed with [redacted]\nand \u2028 so on"
    assert "ValueError: no [redacted]" in record["exception"]
    assert record["time"].endswith("+00:00")
