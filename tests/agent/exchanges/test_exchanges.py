"""Conversations that write to each other: who may, what each side hears, and when they stop."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.agent.exchanges.exchanges import OPEN_PER_SESSION
from hub.agent.exchanges.settings import ExchangeSettings
from hub.core.context import Authority, Context
from hub.sessions.entry import TranscriptEntry
from hub.tools.contract import ToolCall, ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from integrations.tools.sessions.sending import SendTool
from integrations.tools.sessions.visibility import SessionVisibility
from tests.agent.house import CHANGING, MAIN, OUTSIDE
from tests.messaging.post import OWNER, Post
from tests.servers.openai_server import OpenAIServer

ANNA = Authority("peer:test:user:8", person="anna")
COOK = "agent:cook:main"
ROOM = "agent:main:test:group:family"
NEVER = [{"hold": "never"}, {"text": "never"}]
ANNAS = "agent:main:test:direct:8"


class Talking(Post):
    """A post whose agents write to each other; `send` is the tool as a run of an owner's conversation calls it."""

    def __init__(self, folder: Path, base_url: str) -> None:
        super().__init__(folder, base_url, agents=({"id": "main"}, {"id": "cook", "tools": {"deny": ["door"]}}))
        self.allowed = ExchangeSettings(enabled=True, max_turns=0)
        visibility = SessionVisibility(self.sessions, self.agents, lambda key: [], lambda: self.people)
        tool = SendTool(
            self.exchanges, visibility, self.agents, people=lambda: self.people, settings=lambda: self.allowed
        )
        for each in tool.all():
            self.tools.register(each)

    async def send(
        self, to: str, message: str = "what is for dinner?", authority: Authority = OWNER, **more: Any
    ) -> ToolResult:
        session = more.pop("session", MAIN)
        target = {"session_key": to} if ":" in to else {"agent_id": to}
        arguments = {**target, "message": message, **more}
        request = ToolCallRequest("c", "sessions_send", arguments, Context(authority), "main", session, "asking")
        return await invoke_tool(self.tools, request)

    def users(self, session: str) -> list[TranscriptEntry]:
        """What was said to an agent in a conversation."""
        found = self.entries(session)
        return [each for each in found if each.message is not None and each.message.role == "user"]

    async def over(self) -> None:
        """Wait until no exchange goes on."""
        await self.until(lambda: not self.exchanges._open)


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Talking]:
    post = Talking(tmp_path / "home", openai_server.base_url)
    await post.open()
    for key, person in ((MAIN, "me"), (ANNAS, "anna"), (ROOM, None)):
        await post.sessions.ensure(key, person=person)
    yield post
    await post.close()


def noting(calls: list[ToolCall]) -> Callable[[ToolCall], str]:
    """Return a tool that notes its calls."""

    def run(call: ToolCall) -> str:
        calls.append(call)
        return "done"

    return run


async def test_an_agent_asks_another_and_gets_its_answer(post: Talking, openai_server: OpenAIServer) -> None:
    openai_server.queue("soup")

    told = json.loads((await post.send("cook")).output)
    await post.over()

    assert (told["status"], told["reply"], told["session_key"]) == ("ok", "soup", COOK)
    (heard,) = post.users(COOK)
    assert heard.message is not None
    assert "from agent main" in openai_server.requests()[0]["body"]["messages"][-1]["content"]
    assert (
        "[Message from the agent main in the conversation agent:main:main. No person wrote it.]" in heard.message.text
    )
    assert heard.data["channel"] == "automation"


async def test_without_being_allowed_agents_do_not_write_to_each_other(post: Talking) -> None:
    for settings, told in (
        (ExchangeSettings(), "tools.agent_to_agent.enabled is false"),
        (ExchangeSettings(enabled=True, allow=("main",)), "cook is not in tools.agent_to_agent.allow"),
        (ExchangeSettings(enabled=True, allow=("cook",)), "main is not in tools.agent_to_agent.allow"),
    ):
        post.allowed = settings
        result = await post.send("cook")
        assert result.is_error
        assert told in result.output

    assert post.users(COOK) == []


async def test_conversations_of_one_agent_need_no_permission(post: Talking, openai_server: OpenAIServer) -> None:
    post.allowed = ExchangeSettings(max_turns=0)
    openai_server.queue("noted")

    assert json.loads((await post.send(ROOM)).output)["reply"] == "noted"


async def test_both_answer_in_turn_until_one_has_nothing_to_say(post: Talking, openai_server: OpenAIServer) -> None:
    post.allowed = ExchangeSettings(enabled=True)
    openai_server.queue("soup", "which soup?", "tomato", "REPLY_SKIP")

    await post.send("cook")
    await post.over()

    said = [each.message.text.splitlines()[1] for each in post.users(COOK) if each.message is not None]
    assert said == ["what is for dinner?", "which soup?"]
    assert len(post.users(MAIN)) == 2
    assert len(openai_server.requests()) == 4


@pytest.mark.parametrize(("turns", "calls"), [(0, 1), (1, 2), (5, 6)])
async def test_they_stop_after_so_many_turns(
    post: Talking, openai_server: OpenAIServer, turns: int, calls: int
) -> None:
    post.allowed = ExchangeSettings(enabled=True, max_turns=turns)
    openai_server.queue(*(f"more {number}" for number in range(10)))

    await post.send("cook")
    await post.over()

    assert len(openai_server.requests()) == calls


@pytest.mark.parametrize(("says", "told"), [("Dinner is soup.", ["Dinner is soup."]), ("ANNOUNCE_SKIP", [])])
async def test_the_other_side_tells_its_people_at_the_end_or_does_not(
    post: Talking, openai_server: OpenAIServer, says: str, told: list[str]
) -> None:
    await post.said("hello")
    await post.until(lambda: post.pigeons.texts() == ["ok"])
    openai_server.queue("soup", says)

    await post.send(MAIN, session="agent:main:cron:morning")
    await post.over()
    await post.until(lambda: len(post.pigeons.texts()) >= 1 + len(told))

    assert post.pigeons.texts() == ["ok", *told]


async def test_a_message_that_is_not_waited_for_is_accepted_and_answered_later(
    post: Talking, openai_server: OpenAIServer
) -> None:
    post.allowed = ExchangeSettings(enabled=True, max_turns=1)
    openai_server.queue("soup", "REPLY_SKIP")

    told = json.loads((await post.send("cook", timeout=0)).output)
    await post.over()

    assert told["status"] == "accepted"
    (heard,) = post.users(MAIN)
    assert heard.message is not None
    assert "soup" in heard.message.text


@pytest.mark.parametrize(
    ("session", "authority"),
    [(ANNAS, ANNA), (ROOM, OWNER), (ROOM, ANNA), ("agent:main:hook:door", OWNER)],
)
async def test_only_an_owners_own_conversation_writes_to_others(
    post: Talking, openai_server: OpenAIServer, session: str, authority: Authority
) -> None:
    await post.sessions.ensure(session)

    results = [await post.send(to, authority=authority, session=session) for to in ("cook", MAIN)]

    assert all(each.is_error for each in results)
    assert openai_server.requests() == []


@pytest.mark.parametrize("to", [ANNAS, "agent:cook:test:direct:8", "agent:main:main", "agent:main:nothing", "no key:"])
async def test_what_others_say_in_private_is_not_written_to(
    post: Talking, openai_server: OpenAIServer, to: str
) -> None:
    await post.sessions.ensure("agent:cook:test:direct:8", person="anna")

    result = await post.send(to)

    assert result.is_error
    assert openai_server.requests() == []


async def test_after_words_from_outside_the_owner_is_asked_first(post: Talking, openai_server: OpenAIServer) -> None:
    result = await post.send("cook", authority=OWNER.narrow(tainted=True))

    assert "approval" in result.output
    assert openai_server.requests() == []


async def test_words_from_outside_in_the_answer_stay_such(post: Talking, openai_server: OpenAIServer) -> None:
    post.allowed = ExchangeSettings(enabled=True, max_turns=1)
    post.tool("browse", lambda call: ToolResult("It says: obey.", trusted=False), OUTSIDE)
    openai_server.queue({"tool_call": {"name": "browse", "arguments": {}}}, "obey", "REPLY_SKIP")

    result = await post.send("cook")
    await post.over()

    assert not result.trusted
    (heard,) = post.users(MAIN)
    assert not heard.provenance.trusted


async def test_an_answering_side_has_the_tools_of_both_agents_only_and_writes_to_nobody(
    post: Talking, openai_server: OpenAIServer
) -> None:
    post.allowed = ExchangeSettings(enabled=True, max_turns=1)
    opened: list[ToolCall] = []
    post.tool("door", noting(opened), CHANGING)
    door = {"tool_call": {"name": "door", "arguments": {}}}
    more = {"tool_call": {"name": "sessions_send", "arguments": {"agent_id": "main", "message": "again"}}}
    openai_server.queue(more, "open the door", door, "REPLY_SKIP")

    await post.send("cook")
    await post.over()

    assert opened == []
    assert (len(post.users(COOK)), len(post.users(MAIN))) == (1, 1)


async def test_in_a_room_the_answer_is_given_without_an_owners_rights(
    post: Talking, openai_server: OpenAIServer
) -> None:
    calls: list[ToolCall] = []
    post.tool("look", noting(calls))
    openai_server.queue({"tool_call": {"name": "look", "arguments": {}}}, "a cat")

    await post.send(ROOM)

    authority = calls[0].context.authority
    assert (authority.owner, authority.scopes, authority.person) == (False, frozenset(), "me")


async def test_stopping_either_conversation_ends_the_exchange(post: Talking, openai_server: OpenAIServer) -> None:
    post.allowed = ExchangeSettings(enabled=True)
    openai_server.queue(NEVER)

    await post.send("cook", timeout=0)
    await openai_server.until_arrived(1)
    post.runner.abort(session_key=MAIN)
    await post.over()

    assert len(openai_server.requests()) == 1


async def test_a_conversation_begins_only_so_many_exchanges(post: Talking, openai_server: OpenAIServer) -> None:
    openai_server.queue(*(NEVER,) * OPEN_PER_SESSION)

    results = [await post.send("cook", timeout=0) for _ in range(OPEN_PER_SESSION + 1)]

    assert [each.is_error for each in results] == [False] * OPEN_PER_SESSION + [True]
    post.runner.abort(session_key=MAIN)
    await post.over()


@pytest.mark.parametrize(
    "arguments",
    [
        {"message": "hi"},
        {"message": "hi", "agent_id": "cook", "session_key": COOK},
        {"message": "", "agent_id": "cook"},
        {"message": "x" * 50_001, "agent_id": "cook"},
        {"message": "hi", "agent_id": "Not An Id"},
        {"message": "hi", "agent_id": "nobody"},
        {"message": "hi", "agent_id": "cook", "timeout": -1},
        {"message": "hi", "agent_id": "cook", "timeout": 601},
    ],
)
async def test_bad_arguments_are_refused(post: Talking, openai_server: OpenAIServer, arguments: dict[str, Any]) -> None:
    request = ToolCallRequest("c", "sessions_send", arguments, Context(OWNER), "main", MAIN, "asking")

    assert (await invoke_tool(post.tools, request)).is_error
    assert openai_server.requests() == []
