"""The webhook channel takes what is signed and fresh, and says what is wrong with the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.core.schema import Invalid
from hub.core.secret import Secret
from integrations.channels.webhook_chat.schema import CONFIG_SCHEMA
from tests.channels.kit import Heard
from tests.channels.webhook_chat_rig import WebhookRig

MESSAGE = {"id": "1", "sender": "ada", "text": "hello"}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[WebhookRig]:
    rig = WebhookRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
async def heard(rig: WebhookRig, tmp_path: Path) -> AsyncIterator[Heard]:
    heard, channel = Heard(), rig.channel(tmp_path, Clock())
    await channel.start(heard)
    yield heard
    await channel.stop()


@pytest.mark.parametrize(("signed", "status"), [({"secret": "another-secret-of-somebody"}, 401), ({"age_s": 301}, 401)])
async def test_what_is_not_signed_or_old_is_refused(
    rig: WebhookRig, heard: Heard, signed: dict[str, Any], status: int
) -> None:
    assert await rig.posts(MESSAGE, **signed) == status
    assert heard.inbound == []


@pytest.mark.parametrize(
    "message",
    [
        {"id": "1", "sender": "ada"},
        {"id": "", "sender": "ada", "text": "hello"},
        {"id": "1", "sender": "ada", "text": "hello", "chat_type": "crowd"},
        {"type": "button", "id": "1", "sender": "ada"},
        {"type": "wave", "id": "1", "sender": "ada", "text": "hello"},
        [],
    ],
)
async def test_what_is_no_message_is_refused(rig: WebhookRig, heard: Heard, message: Any) -> None:
    assert await rig.posts(message) == 400
    assert heard.inbound == []


@pytest.mark.parametrize(
    "account",
    [
        {"secret": Secret("too short"), "url": "http://127.0.0.1/"},
        {"account": "Mill/2", "secret": Secret("a-secret-of-both-sides"), "url": "http://127.0.0.1/"},
        {"secret": Secret("a-secret-of-both-sides")},
    ],
)
def test_an_account_that_cannot_work_is_an_error_of_the_configuration(account: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        CONFIG_SCHEMA([account])
