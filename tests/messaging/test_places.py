"""What an address in one or two words means."""

from __future__ import annotations

import pytest

from hub.core.errors import InvalidRequest
from hub.messaging.places import chat_or_last


@pytest.mark.parametrize(
    ("channel", "to", "meant"),
    [
        (None, None, None),
        ("last", None, None),
        (None, "last", None),
        ("", "", None),
        ("telegram", "7", ("telegram", "7")),
        (None, "telegram:7", ("telegram", "7")),
        ("matrix", "!room:example.org", ("matrix", "!room:example.org")),
    ],
)
def test_an_address_is_a_chat_or_the_last_one(
    channel: str | None, to: str | None, meant: tuple[str, str] | None
) -> None:
    assert chat_or_last(channel, to) == meant


@pytest.mark.parametrize(
    ("channel", "to", "told"),
    [
        ("telegram", "last", "not both"),
        ("last", "7", "not both"),
        ("telegram", None, "name the recipient"),
        (None, "7", "the channel is missing"),
        (None, ":7", "the channel is missing"),
    ],
)
def test_an_address_that_is_neither_is_refused(channel: str | None, to: str | None, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        chat_or_last(channel, to)
