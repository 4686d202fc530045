"""`homarus tui` with textual's pilot, against a gateway with all it serves, as a hub elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input, Markdown, OptionList, Static

from hub.cli.remote import RemoteHome, remote_home
from hub.core.schema import Schema
from hub.messaging.cli.tui_app import ApprovalScreen, ChoiceScreen, HomarusTui
from hub.tools.contract import READS_HOME, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from tests.cli.terminal import Terminal
from tests.gateway.house import living
from tests.gateway.test_approvals import asked
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer

SIZE = (100, 30)
WAIT_S = 20.0


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    async with living(tmp_path / "house", openai_server) as rig:
        yield rig


def elsewhere(url: str, token: str) -> RemoteHome:
    home = remote_home(url, token)
    assert home is not None
    return home


@asynccontextmanager
async def terminal(house: HubFixture) -> AsyncIterator[tuple[HomarusTui, Pilot[None]]]:
    """The program in a terminal of a hundred columns, connected."""
    app = HomarusTui(elsewhere(house.url.replace("http", "ws"), house.token))
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, lambda: "agent:main:main" in str(app.query_one("#state", Static).render()))
        yield app, pilot


async def shown(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Wait until something is on the screen."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await pilot.pause(0.01)


def lines(app: HomarusTui) -> list[str]:
    """What the conversation shows, in order."""
    return [
        each.source if isinstance(each, Markdown) else str(each.render()) if isinstance(each, Static) else ""
        for each in app.screen_stack[0].query_one("#chat").children
    ]


def choices(app: HomarusTui) -> list[tuple[str, str]]:
    """What can be chosen now."""
    screen = app.screen
    return list(screen.choices) if isinstance(screen, ChoiceScreen) and screen.query(OptionList) else []


async def say(app: HomarusTui, pilot: Pilot[None], text: str) -> None:
    app.query_one("#say", Input).value = text
    await pilot.press("enter")


async def test_a_conversation_shows_tools_and_is_stopped_and_another_is_chosen(
    house: HubFixture, openai_server: OpenAIServer
) -> None:
    async def look(call: ToolCall) -> ToolResult:
        return ToolResult("the lamp is on")

    house.tools.register(Tool("look", "Look.", from_schema(Schema({})), look, "home", READS_HOME))
    openai_server.queue(
        [{"tool_call": {"name": "look", "arguments": {}, "id": "c1"}}],
        [{"text": "It is *on*.", "chunks": 3}],
        [{"text": "I will"}, {"hold": "never"}],
    )
    async with terminal(house) as (app, pilot):
        await say(app, pilot, "is the lamp [on]?")
        await shown(pilot, lambda: "It is *on*." in lines(app))
        first = lines(app)
        await say(app, pilot, "go on")
        await shown(pilot, lambda: "I will" in lines(app))
        await pilot.press("escape")
        await shown(pilot, lambda: "Stopped." in lines(app))
        openai_server.release("never")
        await pilot.press("ctrl+n")
        await shown(pilot, lambda: lines(app) == [])
        await pilot.press("ctrl+o")
        await shown(pilot, lambda: bool(choices(app)))
        models = app.screen.query_one(OptionList).option_count
        await pilot.press("escape", "ctrl+r")
        await shown(pilot, lambda: "agent:main:main" in dict(choices(app)))
        options = app.screen.query_one(OptionList)
        options.highlighted = [key for key, _ in choices(app)].index("agent:main:main")
        options.action_select()
        await shown(pilot, lambda: "It is *on*." in lines(app))

    assert models > 0
    assert first == ["› is the lamp [on]?", "✓ look: the lamp is on", "It is *on*."]


async def test_an_approval_shows_exactly_what_it_is_for_and_takes_the_answer(house: HubFixture) -> None:
    async with terminal(house) as (app, pilot):
        task, _ = await asked(house)
        await shown(pilot, lambda: any('"to": "bob"' in str(each.render()) for each in app.screen.query(Static)))
        await shown(pilot, lambda: bool(app.screen.query("#deny")))
        app.screen.query_one("#allow-once", Button).press()
        approved = (await task).approved
        await shown(pilot, lambda: not isinstance(app.screen, ApprovalScreen))

    assert approved


async def test_a_hub_that_is_not_there_ends_it_with_the_reason() -> None:
    app = HomarusTui(elsewhere("ws://127.0.0.1:1", "abc"))

    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, lambda: app.failure is not None)

    assert app.failure is not None
    assert "cannot be reached" in app.failure.message


def test_without_a_terminal_it_says_what_to_use(type_: Terminal) -> None:
    ran = type_("--url", "ws://127.0.0.1:1", "--token", "abc", "tui")

    assert ran.code == 2
    assert "homarus chat" in ran.err
