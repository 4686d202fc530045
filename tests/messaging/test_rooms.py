"""What is configured for a group is in force: prompt, tools, agent, context, several agents, and where replies go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import ToolPolicy
from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupSettings
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.access.send_policy import SendPolicy, SendRule
from tests.messaging.post import ONE_BY_ONE, Post
from tests.servers.openai_server import OpenAIServer

AGENTS: tuple[dict[str, Any], ...] = ({"id": "main", "default": True}, {"id": "cook"}, {"id": "gardener"})
Open = Callable[..., Post]


@pytest.fixture
def made(tmp_path: Path, openai_server: OpenAIServer) -> Open:
    """Makes a hub of three agents with one group."""

    def make(group: GroupSettings | None = None, **settings: Any) -> Post:
        return Post(
            tmp_path / "home",
            openai_server.base_url,
            settings=MessagingSettings(queue=ONE_BY_ONE, **settings),
            access=AccessPolicy(DmPolicy.OPEN, groups={"family": group or GroupSettings()}),
            agents=AGENTS,
        )

    return make


async def test_the_prompt_and_the_tools_of_a_group_hold_there_and_nowhere_else(
    made: Open, openai_server: OpenAIServer
) -> None:
    group = GroupSettings(system_prompt="Speak of tea.", tools=(ToolPolicy(deny=frozenset({"look"})),))
    post = made(group)
    post.tool("look", lambda call: "seen")
    await post.open()

    await post.said("hello", group="family", mentioned=True)
    await post.until(lambda: len(post.pigeons.sent) == 1)
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 2)

    there, elsewhere = (str(each["body"]) for each in openai_server.requests())
    assert ("Speak of tea." in there, "Speak of tea." in elsewhere) == (True, False)
    assert ("'look'" in there, "'look'" in elsewhere) == (False, True)
    await post.close()


async def test_the_agent_of_a_group_answers_it(made: Open) -> None:
    post = made(GroupSettings(agent="cook"))
    await post.open()

    receipt = await post.said("hello", group="family", mentioned=True)

    assert receipt.session_key == "agent:cook:test:group:family"
    await post.close()


async def test_a_group_is_listed_under_its_name(made: Open) -> None:
    post = made()
    await post.open()

    receipt = await post.said("hello", group="family", mentioned=True, group_name="The\tMillers")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    session = post.sessions.get(receipt.session_key or "")
    assert session is not None
    assert (session.title, session.name) == (None, "The Millers")
    assert session.origin is not None
    assert (session.origin.channel, session.origin.peer) == ("test", "family")
    await post.close()


async def test_what_is_not_addressed_to_it_is_context_of_the_next_answer(
    made: Open, openai_server: OpenAIServer
) -> None:
    post = made(GroupSettings(history_limit=1))
    await post.open()

    first = await post.said("the boiler leaks", group="family", who="9")
    await post.said("since Monday", group="family", who="9")
    await post.said("what now?", group="family", mentioned=True)
    await post.until(lambda: len(post.pigeons.sent) == 1)

    (request,) = openai_server.requests()
    assert (first.accepted, first.run_id) == (False, None)
    assert "since Monday" in str(request["body"])
    assert "the boiler leaks" not in str(request["body"])
    await post.close()


async def test_several_agents_answer_one_message_each_once_in_its_own_session(made: Open) -> None:
    post = made(broadcast={"family": ("cook", "nobody", "gardener")})
    await post.open()

    for _ in range(2):
        await post.said("hello", "m1", group="family", mentioned=True)
    await post.until(lambda: len(post.pigeons.sent) == 2)

    rows = await post.rows("SELECT session_key, state FROM inbox ORDER BY position")
    assert rows == [("agent:cook:test:group:family", "done"), ("agent:gardener:test:group:family", "done")]
    assert [message.reply_to for message in post.pigeons.sent] == ["m1", "m1"]
    assert await post.rows("SELECT count(*) FROM runs") == [(2,)]
    await post.close()


async def test_a_command_in_a_broadcast_group_is_answered_once(made: Open) -> None:
    post = made(broadcast={"family": ("cook", "gardener")})
    await post.open()

    await post.said("/status", group="family", mentioned=True)
    await post.until(lambda: len(post.pigeons.sent) == 1)

    assert await post.rows("SELECT count(*) FROM inbox") == [(1,)]
    await post.close()


@pytest.mark.parametrize(("chosen", "sent"), [(None, 0), ("on", 1)])
async def test_a_reply_leaves_only_when_the_rules_or_the_session_let_it(
    made: Open, chosen: str | None, sent: int
) -> None:
    post = made(send_policy=SendPolicy((SendRule(allow=False, chat_type="group"),)))
    await post.open()
    key = "agent:main:test:group:family"
    await post.sessions.ensure(key)
    await post.sessions.patch(key, send=chosen)

    await post.said("hello", group="family", mentioned=True)
    await post.runs.drain(timeout_s=20)
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == sent + 1)

    assert len(post.pigeons.texts("family")) == sent
    assert await post.rows("SELECT count(*) FROM inbox WHERE state = 'done'") == [(2,)]
    await post.close()
