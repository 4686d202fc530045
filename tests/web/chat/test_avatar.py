"""The picture of an agent in the dashboard."""

from __future__ import annotations

from aiohttp import ClientSession

from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.web.test_pages import signed_in


async def test_the_picture_of_an_agent_is_shown_above_its_conversations(hub: HubProcess) -> None:
    picture = b"\x89PNG\r\n\x1a\n and the rest"
    (hub.home / "workspace" / "owl.png").write_bytes(picture)
    config = hub.rpc("config.get")
    text = config["raw"] + "agents: [{id: main, name: Nova, avatar: owl.png}]\n"
    hub.rpc("config.set", {"file": "configuration.yaml", "raw": text, "baseHash": config["hash"]})
    until(lambda: hub.rpc("agents.list")["agents"][0]["name"] == "Nova")

    async with signed_in(hub) as owner, ClientSession(hub.url) as stranger:
        page = await (await owner.get("/chat")).text()
        shown = await owner.get("/avatar?agent=main")
        none = await owner.get("/avatar?agent=nobody")
        refused = await stranger.get("/avatar?agent=main", allow_redirects=False)

        assert 'src="/avatar?agent=main"' in page
        assert (shown.headers["Content-Type"], await shown.read()) == ("image/png", picture)
        assert (none.status, refused.status) == (404, 401)
