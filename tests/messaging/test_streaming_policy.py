from __future__ import annotations

from typing import Any

import pytest

from hub.agent.answer.human_delay import NATURAL_DELAY, HumanDelay
from hub.core.schema import Schema, SchemaError
from hub.messaging.outbox.chunking import BlockBreak
from hub.messaging.outbox.outbound_policy import (
    OUTBOUND_KEYS,
    BlockSending,
    BlockStreaming,
    DraftStreaming,
    OutboxSettings,
    outbound_policy,
)
from hub.messaging.schema import MESSAGES_SCHEMA

ACCOUNT = Schema(dict(OUTBOUND_KEYS))


def settings(**messages: Any) -> OutboxSettings:
    return OutboxSettings.from_config(MESSAGES_SCHEMA(messages), "en")


def test_nothing_is_streamed_unless_it_is_asked_for() -> None:
    assert settings().blocks == BlockStreaming()
    assert settings().human_delay == HumanDelay()
    assert (outbound_policy(ACCOUNT({})).blocks, outbound_policy(ACCOUNT({})).streaming) == (None, DraftStreaming.OFF)


def test_what_is_asked_for_is_read() -> None:
    stated = {"enabled": True, "min_chars": 100, "max_chars": 300, "break": "sentence", "idle_ms": 500}
    stated["send_at"] = "message_end"

    assert settings(block_streaming=stated).blocks == BlockStreaming(
        True, 100, 300, BlockBreak.SENTENCE, 500, BlockSending.MESSAGE_END
    )
    assert settings(human_delay="natural").human_delay == NATURAL_DELAY
    assert settings(human_delay={"max_ms": 900}).human_delay == HumanDelay(800, 900)
    account = outbound_policy(ACCOUNT({"streaming": "partial", "block_streaming": {"enabled": True}}))
    assert (account.blocks, account.streaming) == (BlockStreaming(enabled=True), DraftStreaming.PARTIAL)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ({"block_streaming": {"min_chars": 2_000}}, "2000 is more than max_chars, which is 1200.*min_chars"),
        ({"human_delay": {"min_ms": 3_000}}, "3000 is more than max_ms, which is 2500.*min_ms"),
        ({"human_delay": "slow"}, "human_delay"),
        ({"block_streaming": {"break": "word"}}, "break"),
        ({"block_streaming": {"idle_ms": 0}}, "idle_ms"),
        ({"block_streaming": {"send_at": "once"}}, "send_at"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(messages: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        MESSAGES_SCHEMA(messages)


def test_a_pause_lies_between_its_bounds() -> None:
    assert [NATURAL_DELAY.delay_ms(chance) for chance in (0.0, 0.5, 1.0)] == [800, 1_650, 2_500]
