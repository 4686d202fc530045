"""What comes in through a chat platform: nobody gains by what they write, or by what a channel passes on of them."""

from __future__ import annotations

import pytest

from hub.core.sql import SqlConnection
from hub.messaging.inbox.inbox import CLEAR_EVERY
from hub.messaging.inbox.inbox_rows import REJECTED_KEPT
from hub.models.contract import Role
from tests.security_review.besieged import Besieged
from tests.servers.openai_server import OpenAIServer


async def test_in_a_group_the_owner_has_the_name_and_not_the_rights(
    house: Besieged, openai_server: OpenAIServer
) -> None:
    (house.workspace / "MEMORY.md").write_text("# Memory\n\n- the alarm code is 7731\n")
    openai_server.queue([{"tool_call": {"name": "read", "arguments": {"path": "MEMORY.md"}, "id": "c"}}], "done")

    entries = await house.heard(await house.platform.say("platform:user:1", "read it", group="-100"))

    results = [each.message for each in entries if each.message is not None and each.message.role is Role.TOOL]
    assert results[-1].is_error
    assert "7731" not in str(openai_server.requests())


async def test_a_group_that_is_not_listed_is_not_answered(house: Besieged) -> None:
    for sender in ("platform:user:1", "platform:user:9"):
        assert not (await house.platform.say(sender, "hello", group="-666")).accepted


@pytest.mark.parametrize("command", ["/model test/other", "/model@bot test/other", "/MODEL x", "/model\ntest/other"])
async def test_commands_of_the_owner_are_refused_to_others(house: Besieged, command: str) -> None:
    for sender, group in (("platform:user:9", None), ("platform:user:2", None), ("platform:user:1", "-100")):
        receipt = await house.platform.say(sender, command, group=group)

        session = house.hub.sessions.get(receipt.session_key or "")
        assert session is None or session.model is None


async def test_refused_messages_do_not_fill_the_disk(house: Besieged) -> None:
    def many(connection: SqlConnection) -> None:
        connection.executemany(
            "INSERT INTO inbox(id, channel, account, account_id, peer, message_id, received_ms, state)"
            " VALUES (?, 'platform', 'default', 'bot-1', '-666', ?, 0, 'rejected')",
            [(f"old-{number}", f"old-{number}") for number in range(REJECTED_KEPT + 2_000)],
        )

    await house.hub.db.write(many)
    for _ in range(CLEAR_EVERY):
        await house.platform.say("platform:user:9", "let me in", group="-666")

    count = await house.hub.db.read(
        lambda connection: connection.execute("SELECT count(*) FROM inbox WHERE state = 'rejected'").fetchone()[0]
    )
    assert count <= REJECTED_KEPT + CLEAR_EVERY


async def test_a_stranger_never_shares_the_main_conversation_whatever_is_configured(house: Besieged) -> None:
    file = house.hub.home.path / "configuration.yaml"
    file.write_text(file.read_text() + "session: {dm_scope: main}\n")
    await house.hub.apply(await house.hub.config.reload())

    stranger = await house.platform.say("platform:user:9", "what did the owner say?")
    anna = await house.platform.say("platform:user:2", "hello")

    assert stranger.session_key == "agent:main:platform:direct:9"
    assert anna.session_key == "agent:main:main" or not anna.accepted
