"""What clients hear of strangers who ask to write, and of what was decided."""

from __future__ import annotations

from pathlib import Path

from hub.core.context import Context
from hub.gateway.push.events import HubEvents
from hub.messaging.access.access import AccessPolicy, DmPolicy
from tests.gateway.rig import connected, running
from tests.messaging.post import OWNER, Post
from tests.servers.openai_server import OpenAIServer


async def test_a_stranger_is_announced_to_those_who_may_let_them_in_and_to_nobody_else(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    post = Post(tmp_path / "post", openai_server.base_url, access=AccessPolicy(dm=DmPolicy.PAIRING))
    await post.open()
    bus = post.bus
    async with running(tmp_path / "gateway") as rig:
        HubEvents(bus, rig.gateway.broadcast, rig.clock, dict)
        async with connected(rig) as owner, connected(rig, scopes=["operator.read"]) as reader:
            await post.said("let me in", who="99")
            requested = (await owner.event("pairing.requested"))["payload"]
            await post.pairings.deny("test", requested["id"], Context(OWNER))
            resolved = (await owner.event("pairing.resolved"))["payload"]
            bus.fire("config_changed", {"changed": ["people"]})
            await reader.event("config.changed")
    await post.close()

    asked = {"id": requested["id"], "channel": "test", "account": "default", "identity": "test:user:99"}
    assert requested == asked | {"ts": requested["ts"]}
    assert resolved == asked | {"decision": "denied", "resolvedBy": "owner", "ts": resolved["ts"]}
    assert not [each for each in reader.events if each["event"].startswith("pairing.")]
