"""A post that the assistant opened in a forum of Discord is answered in its thread."""

from __future__ import annotations

import pytest

from hub.core.context import Context
from hub.core.schema import Schema
from hub.messaging.contract import Address, Button, ChatType
from hub.messaging.outbox.outbox_rows import NewMessage, RowSource
from hub.messaging.schema import ACCESS_KEYS, access_policy
from tests.channels.discord_rig import DiscordRig
from tests.channels.kit import ANSWER, ChannelHub
from tests.messaging.post import OWNER
from tests.servers.discord_server import FORUM, GUILD, PERSON


@pytest.mark.parametrize("rig", [DiscordRig], indirect=True)
async def test_a_long_message_is_one_post_and_its_button_is_answered_there(hub: ChannelHub, rig: DiscordRig) -> None:
    await hub.log_out()
    rules = Schema(dict(ACCESS_KEYS))({"group_policy": "allowlist", "groups": [FORUM]})
    await hub.channels.add(rig.channel(hub.folder, hub.clock), access_policy(rules))
    long = "Trip\n" + "\n".join(f"line {each}" for each in range(30))
    forum = Address("discord", FORUM, chat_type=ChatType.CHANNEL)
    said = NewMessage(long, buttons=((Button("Berlin", "berlin"),),))
    await hub.outbox.send(forum, said, Context(OWNER), session_key="agent:main:quiz", source=RowSource.TOOL)
    await hub.until_counts(sent=2)

    (post,) = [id for id, each in rig.server.channels.items() if each.get("parent_id") == FORUM]
    first, second = rig.server.messages[post]
    pressed = {"id": rig.server.new_id(), "token": "t", "type": 3, "channel_id": post, "guild_id": GUILD}
    pressed |= {"member": {"user": {"id": PERSON, "username": "ada"}}, "message": second}
    custom_id = second["components"][0]["components"][0]["custom_id"]
    await rig.server.emit("INTERACTION_CREATE", {**pressed, "data": {"custom_id": custom_id}})
    await hub.until(lambda: len(rig.server.messages[post]) == 3)

    assert rig.server.channels[post]["name"] == "Trip"
    assert first["content"].startswith("Trip\nline 0\n")
    assert second["content"].endswith("line 29")
    assert rig.server.messages[post][2]["content"] == ANSWER
