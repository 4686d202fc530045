"""What an integration registers through its host goes when it goes; a real hub runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.config.seed import seed
from hub.core.errors import NotFound
from hub.hub import Hub
from hub.storage.homedir import Home
from tests.e2e.homes import add_integration
from tests.hosting import host_on
from tests.until import until

EVERYTHING = """
import asyncio
from pathlib import Path

from aiohttp import web

from hub.core.schema import Schema
from hub.core.surfaces import READ, Method, Push, Route
from hub.gateway.pages import Page
from hub.integration.errors import NotReady
from hub.messaging.commands.registry import ChatCommand
from hub.messaging.contract import ChannelLimits
from hub.tools.contract import Tool, ToolResult
from hub.tools.parameters import from_schema


class Line:
    name, account, limits = "line", "default", ChannelLimits()

    async def start(self, receive):
        self.server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)

    async def stop(self):
        self.server.close()

    async def send(self, message): ...

    async def probe(self):
        return {}


class Radio:
    name = "radio"

    async def start(self, connect):
        connect(Lamp())

    async def stop(self): ...


class Lamp:
    id, name, platform, commands, permissions = "lamp", "Lamp", "linux", frozenset({"switch"}), {}

    async def invoke(self, command, params, **_):
        return {"switched": params["on"]}


async def answer(call):
    return web.Response()


async def nothing(*_):
    return None


async def setup(host, config):
    await host.channels.add(Line())
    host.tools.add(Tool("everything", "Does.", from_schema(Schema({})), nothing, "home"))
    host.models.add("everything", lambda name, config: None)
    host.services.register("do", nothing)
    host.commands.add(ChatCommand("everything", nothing, help="do"))
    host.methods.add(Method("everything.do", nothing, "everything", Schema({})))
    host.routes.add(Route("GET", "/everything", answer, "everything"))
    template = Path(__file__).with_name("page.html")
    template.write_text("<p>Everything</p>")
    host.pages.add(Page("/everything-page", "Everything", template, nothing))
    await host.nodes.add(Radio())
    host.events.add("everything_happened", lambda event: Push("everything", {}, READ))
    host.bus.listen("everything_happened", nothing)
    host.states.set("sensor.everything", "on")
    host.spawn(asyncio.sleep(3600), name="work for ever")
    async def gone():
        await host.storage("log").save(await host.storage("log").load([]) + ["gone"])
    host.on_unload(gone)
    if not (Path(host.home) / "ready").exists():
        raise NotReady("the line is busy", retry_after_s=0.05)
"""


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    """A hub that is not started, with the integration in its home."""
    home = Home(tmp_path / "home")
    home.create()
    seed(home)
    add_integration(home.path, "everything", EVERYTHING, default=True)
    hub = Hub(home, port=0)
    yield hub
    await hub.stop()


def there(hub: Hub) -> dict[str, bool]:
    """What of the integration is registered."""
    return {
        "channel": hub.channels.get("line") is not None,
        "tool": hub.tools.get("everything") is not None,
        "service": hub.services.get("everything", "do") is not None,
        "command": any(each.name == "everything" for each in hub.commands.all()),
        "method": hub.gateway.methods.get("everything.do") is not None,
        "route": hub.gateway.routes.match("GET", "/everything") is not None,
        "page": hub.gateway.routes.match("GET", "/everything-page") is not None,
        "navigation": any(each.path == "/everything-page" for each in hub.pages.all()),
        "node": hub.nodes.get("lamp") is not None,
        "listeners": hub.bus.listener_counts().get("everything_happened", 0) == 2,
        "state": hub.states.get("sensor.everything") is not None,
        "task": any(task.get_name() == "work for ever" for task in asyncio.all_tasks()),
    }


async def test_a_channel_of_a_set_up_that_was_not_ready_is_gone_before_the_retry(hub: Hub) -> None:
    await hub.start()
    status = hub.integrations.status("everything")
    assert status is not None
    await until(lambda: status.attempts > 2 and status.state.value == "retrying")
    retrying = status.state.value, status.reason

    (hub.home.path / "ready").touch()
    await until(lambda: status.state.value == "set_up")

    assert retrying == ("retrying", "the line is busy")
    assert set(there(hub).values()) == {True}, there(hub)


async def test_everything_registered_through_the_host_is_undone_when_it_is_unloaded(hub: Hub) -> None:
    (hub.home.path / "ready").touch()
    await hub.start()
    before = there(hub)

    await hub.integrations.stop()

    assert set(before.values()) == {True}, before
    assert set(there(hub).values()) == {False}, there(hub)
    assert (hub.home.storage / "integrations" / "everything" / "log.json").read_text() == '["gone"]'
    with pytest.raises(NotFound):
        await hub.models.resolve("everything/x")


async def test_started_waits_for_a_hub_that_starts_and_for_no_other(hub: Hub) -> None:
    host, _ = host_on(hub, "anything")
    waiting = asyncio.create_task(host.started())

    await hub.start()

    await waiting
    with pytest.raises(StopIteration):  # at once
        host.started().send(None)
