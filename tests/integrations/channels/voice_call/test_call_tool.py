"""The tool with which an agent calls somebody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import Forbidden, InvalidRequest, NotFound, Unavailable
from hub.tools.contract import ToolCall, ToolResult
from integrations.channels.voice_call.channel import VoiceCallChannel
from integrations.channels.voice_call.tool import CallTool
from tests.channels.kit import EVE, Heard
from tests.channels.voice_call_rig import PEOPLE, VoiceCallRig
from tests.servers.telephone_server import Telephone
from tests.until import until

OWNER = Context(Authority("owner", person="me", scopes=SCOPES, owner=True))
SHOP = PEOPLE[EVE]
OPENING = "Hello, this is an automatic assistant."


@pytest.fixture
def tool(channel: VoiceCallChannel) -> CallTool:
    return CallTool({"default": channel})


@pytest.fixture
def shop(platform: VoiceCallRig, heard: Heard) -> Telephone:
    """A telephone of somebody who may not talk to the assistant by themselves."""
    heard.strangers = [platform.identity(EVE)]
    return platform.telephone(EVE)


async def does(tool: CallTool, action: str, session_key: str = "here", **arguments: Any) -> ToolResult:
    made = tool.tool()
    valid = made.parameters.validate({"action": action, **arguments})
    return await made.run(ToolCall("1", made.name, valid, OWNER, "main", session_key, "run"))


async def test_an_agent_calls_speaks_listens_and_hangs_up(tool: CallTool, shop: Telephone, heard: Heard) -> None:
    calling = asyncio.create_task(does(tool, "start", number=SHOP, text="Are you open on Sunday?"))
    await until(lambda: shop.heard == [f"{OPENING} Are you open on Sunday?"])
    await shop.say("until noon")
    answer = await calling
    asking = asyncio.create_task(does(tool, "say", text="A table for two?"))
    await until(lambda: len(shop.heard) == 2)
    await shop.say("yes")
    second = await asking
    status = await does(tool, "status")

    ended = await does(tool, "hang_up", text="Thank you.")

    assert 'They said: "until noon" The call goes on.' in answer.output
    assert not answer.trusted
    assert 'They said: "yes"' in second.output
    assert f"to {SHOP}" in status.output
    assert shop.heard[1:] == ["A table for two?", "Thank you."]
    assert "is over" in ended.output
    await until(lambda: not shop.is_up)
    assert heard.inbound == []


async def test_who_hangs_up_is_said_to_have(tool: CallTool, shop: Telephone) -> None:
    calling = asyncio.create_task(does(tool, "start", number=SHOP, text="Hello?"))
    await until(lambda: bool(shop.heard))

    await shop.hang_up()

    assert (await calling).output.endswith("They said nothing. They hung up.")
    with pytest.raises(NotFound):
        await does(tool, "say", text="Are you there?")


async def test_who_does_not_answer_is_an_error_that_says_so(tool: CallTool, shop: Telephone) -> None:
    shop.answers = "busy"

    with pytest.raises(Unavailable, match="busy"):
        await does(tool, "start", number=SHOP, text="Hello?")


async def test_a_call_is_of_the_conversation_that_it_is_in(
    tool: CallTool, platform: VoiceCallRig, channel: VoiceCallChannel
) -> None:
    ada = platform.telephone()
    await ada.dial()
    await until(lambda: bool(channel.calls()))

    with pytest.raises(Forbidden):
        await does(tool, "hang_up", number=ada.number)
    assert ada.number not in (await does(tool, "status")).output
    with pytest.raises(InvalidRequest):
        await does(tool, "start", number=ada.number, text="Hello?")
    channel.calls()[0].keys.add("here")
    await does(tool, "transfer", to="+4930777777")

    await until(lambda: ada.dialled == "+4930777777")


async def test_what_the_run_that_hung_up_still_says_is_not_said(
    tool: CallTool, platform: VoiceCallRig, channel: VoiceCallChannel
) -> None:
    ada = platform.telephone()
    await ada.dial()
    await until(lambda: bool(channel.calls()))
    channel.calls()[0].keys.add("here")
    await does(tool, "hang_up")

    from tests.integrations.channels.voice_call.test_calls import message

    delivery = await channel.send(message("Goodbye", run_id="run"))

    assert delivery.error is None
    assert (ada.heard, platform.server.asked) == ([], [])


def test_calling_and_putting_through_ask_first(tool: CallTool) -> None:
    made = tool.tool()
    assert made.approval is not None

    for action, asks in {"start": True, "transfer": True, "say": False, "status": False, "hang_up": False}.items():
        why = made.approval({"action": action, "number": SHOP, "to": SHOP, "text": "Hello"}, OWNER.authority)
        assert (why is not None) is asks
        if why is not None:
            assert SHOP in why


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "start", "number": SHOP},
        {"action": "start", "text": "Hello", "number": "112"},
        {"action": "transfer"},
        {"action": "say"},
        {"action": "dance"},
    ],
)
def test_what_cannot_be_done_is_refused_before_anybody_is_asked(tool: CallTool, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        tool.tool().parameters.validate(wrong)
