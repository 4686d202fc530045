"""Search in earlier conversations by the agent: it finds what it may see, and says whose words these are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from hub.core.context import Authority
from hub.models.contract import Message, Role, TextBlock, user_message
from hub.sessions.entry import Provenance, message_entry
from hub.sessions.keys import incognito_key
from hub.tools.contract import ToolResult
from integrations.tools import sessions
from tests.integrations.tools.standing import ANNAS, GROUP, MAIN, Standing

CRON = "agent:main:cron:tea"


@pytest.fixture
async def place(standing: Standing) -> AsyncIterator[Standing]:
    await standing.db.open()
    await standing.sessions.open()
    await standing.set_up(sessions)
    yield standing
    await standing.transcript_search.close()
    await standing.sessions.close()
    await standing.db.close()


async def say(place: Standing, key: str, *said: Message | str, who: str = "owner", trusted: bool = True) -> None:
    transcript = await place.sessions.open_transcript(await place.sessions.ensure(key))
    messages = [user_message(each) if isinstance(each, str) else each for each in said]
    await transcript.append([message_entry(each, 1_000, provenance=Provenance(trusted, who)) for each in messages])


async def search(
    place: Standing, arguments: dict[str, Any], *, session: str = MAIN, authority: Authority | None = None
) -> ToolResult:
    await place.transcript_search.catch_up()
    return await place.call("sessions_search", arguments, session=session, authority=authority)


def keys_in(result: ToolResult) -> set[str]:
    return {each["session_key"] for each in orjson.loads(result.output)["messages"]}


async def test_it_finds_what_was_said_also_before_a_reset(place: Standing) -> None:
    await say(place, CRON, "The boiler was serviced in May.")
    await place.sessions.reset(CRON)
    await say(place, MAIN, "Nothing of note.")

    result = await search(place, {"query": "boiler serviced"})

    assert orjson.loads(result.output)["messages"] == [
        {
            "session_key": CRON,
            "time": "1970-01-01T00:00:01+00:00",
            "role": "user",
            "text": "The boiler was serviced in May.",
            "before_reset": True,
        }
    ]
    assert result.trusted


@pytest.mark.parametrize(
    ("who", "session", "seen"),
    [
        ("owner", MAIN, {MAIN, GROUP}),
        ("owner", GROUP, {GROUP}),
        ("anna", GROUP, {GROUP}),
        ("anna", ANNAS, {ANNAS}),
        ("owner", "agent:main:subagent:x", set()),
    ],
)
async def test_it_finds_only_what_the_conversation_may_see(
    place: Standing, who: str, session: str, seen: set[str]
) -> None:
    for key in (MAIN, ANNAS, GROUP, "agent:other:main", incognito_key("main", "1", "webchat")):
        await say(place, key, "the code is 7731")

    found = await search(place, {"query": "code"}, session=session, authority=getattr(place, who))

    assert keys_in(found) == seen


async def test_strangers_search_nothing(place: Standing) -> None:
    await say(place, GROUP, "the code is 7731")

    result = await search(place, {"query": "code"}, session=GROUP, authority=place.stranger)

    assert result.is_error
    assert "people of this home only" in result.output


@pytest.mark.parametrize("asks", ["sessions_list", "sessions_history"])
async def test_a_group_sees_no_other_conversation_even_when_an_owner_asks_there(place: Standing, asks: str) -> None:
    for key in (MAIN, GROUP):
        await say(place, key, "the code is 7731")

    seen = await place.call(asks, {"session_key": MAIN} if asks == "sessions_history" else {}, session=GROUP)

    assert "7731" not in seen.output
    assert MAIN not in seen.output or seen.is_error


@pytest.mark.parametrize(("who", "trusted"), [("person:anna", True), ("owner", False)])
async def test_an_answer_among_words_of_others_is_not_trusted_either(place: Standing, who: str, trusted: bool) -> None:
    await say(place, GROUP, "theirs", who=who, trusted=trusted)
    await say(place, GROUP, Message(Role.ASSISTANT, (TextBlock("The quokka sleeps."),)), who="model")
    await say(place, MAIN, "The boiler hums.")

    assert not (await search(place, {"query": "quokka"})).trusted
    assert (await search(place, {"query": "boiler"})).trusted


async def test_there_are_as_many_messages_as_asked_for_and_each_is_cut(place: Standing) -> None:
    await say(place, MAIN, *(f"{number} boiler {'x' * 1_000}" for number in range(30)))

    few = await search(place, {"query": "boiler", "limit": 2})
    most = await search(place, {"query": "boiler", "limit": 20})
    more = await search(place, {"query": "boiler", "limit": 21})

    assert len(orjson.loads(few.output)["messages"]) == 2
    assert len(most.output) < 20 * 400
    assert more.is_error


async def test_a_query_without_a_word_is_refused_with_the_reason(place: Standing) -> None:
    result = await search(place, {"query": "?!"})

    assert result.is_error
    assert "a word less common" in result.output
