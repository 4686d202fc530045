"""Tidying up, done: one change that can be undone, each memory by itself, with a model's judgement or without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.agent.tidy.judge import ATTEMPTS, BATCH, EVENT_MEMORY_JUDGED, PAIRS_LIMIT, read_answers
from hub.agent.tidy.verdicts import KEPT_LIMIT, Verdicts
from hub.core.context import Authority
from hub.core.errors import Conflict, Forbidden, InvalidRequest
from hub.memory.alike import Relation
from hub.memory.contract import Forget, MemoryKind
from hub.memory.scope import MemoryScope
from hub.sessions.keys import group_key
from hub.sessions.privacy import scope_of
from tests.agent.tidy.house import ANNA, ANNAS, OWNER, Meaning, TidyHouse, day, entry, tidying
from tests.servers.openai_server import OpenAIServer

BOX = "The wifi box hangs in the hall"
BOILER = "The boiler man comes on Tuesday"
NOT_TUESDAY = "The boiler man comes on Thursday"
CHINESE = "安娜喜欢喝茶"
NOT_CHINESE = "安娜不喜欢喝茶"
ASKED = "Compare these"
ROOM = group_key("main", "telegram", "-100")
NOTHING = {"promoted": 0, "merged": 0, "contradictions": [], "removed": 0, "change_id": None, "summary": "", "diff": ""}


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[TidyHouse]:
    """A house whose model says nothing of notes unless the test lets it."""
    async with tidying(tmp_path, openai_server.base_url) as house:
        yield house


def answering(openai_server: OpenAIServer, *answers: str) -> None:
    openai_server.rule(ASKED, json.dumps({"answers": answers}))


def asked(openai_server: OpenAIServer) -> list[str]:
    """Return what a model was asked about notes."""
    texts = [str(each["body"]["messages"][1]["content"]) for each in openai_server.requests()]
    return [text for text in texts if ASKED in text]


def a_mess(house: TidyHouse) -> None:
    """Something of everything, in two languages."""
    house.write(
        "MEMORY.md",
        "# Memory\n\n## People\n\n"
        + entry("Anna is allergic to nuts", 20)
        + entry("anna is allergic to nuts.", 10)
        + entry(CHINESE, 9),
    )
    house.note(3, BOX, BOILER, "我们家的钥匙在厨房")
    house.note(2, f"{BOX}.", NOT_TUESDAY, "我们家的钥匙在厨房。")
    house.note(1, NOT_CHINESE)


async def test_it_is_one_change_that_can_be_undone(house: TidyHouse, openai_server: OpenAIServer) -> None:
    answering(openai_server, "contradicts", "contradicts")
    a_mess(house)
    before = house.files()

    done = await house.tidy()
    [change] = await house.changes()
    curated = house.read("MEMORY.md")
    await house.undo(done["change_id"])

    assert (done["promoted"], done["merged"], done["removed"]) == (2, 1, 0)
    pairs = {(each["older"]["text"], each["newer"]["text"]) for each in done["contradictions"]}
    assert pairs == {(BOILER, NOT_TUESDAY), (CHINESE, NOT_CHINESE)}
    assert done["summary"] == (
        "Kept 2 entries for good, struck 1 that was there twice or outdated, 2 contradictions to be settled."
    )
    assert (change.id, change.reason, change.who, change.summary) == (done["change_id"], "tidy", "me", done["summary"])
    assert f"+- {BOX}." in change.diff
    assert f"- {BOX}.\n" in curated
    assert "- 我们家的钥匙在厨房。\n" in curated
    assert "~~Anna is allergic to nuts~~" in curated
    assert house.files() == before


async def test_a_second_time_there_is_nothing_to_do(house: TidyHouse, openai_server: OpenAIServer) -> None:
    answering(openai_server, "contradicts", "contradicts")
    a_mess(house)
    await house.tidy()
    after = house.files()

    again = await house.tidy()

    assert {key: again[key] for key in NOTHING} == NOTHING
    assert again["unsettled"] == 2
    assert house.files() == after
    assert len(await house.changes()) == 1


async def test_a_dry_run_shows_the_same_and_writes_nothing(house: TidyHouse) -> None:
    a_mess(house)
    before = house.files()

    shown = await house.tidy(dry_run=True)
    untouched = house.files() == before and await house.changes() == []
    done = await house.tidy()

    assert untouched
    assert (shown["change_id"], shown["dry_run"]) == (None, True)
    assert shown["diff"] == done["diff"] != ""
    assert shown["summary"] == done["summary"]


async def test_what_was_taken_back_is_not_done_again(house: TidyHouse) -> None:
    a_mess(house)
    done = await house.tidy()
    await house.undo(done["change_id"])
    before = house.files()

    again = await house.tidy()

    assert again["summary"] == ""
    assert house.files() == before


async def test_where_there_is_nothing_nothing_is_done(house: TidyHouse) -> None:
    assert (await house.tidy())["summary"] == ""
    assert house.files() == {}


# --- who may, and whose it is ---


async def test_words_from_outside_do_not_choose_what_lasts(house: TidyHouse) -> None:
    a_mess(house)

    with pytest.raises(Forbidden, match="text that others wrote"):
        await house.tidy(house.people.owner_authority().narrow(tainted=True))

    assert await house.changes() == []


async def test_a_token_of_no_person_has_no_memory_to_tidy(house: TidyHouse) -> None:
    with pytest.raises(Forbidden, match="not a person of this home"):
        await house.tidy(Authority("token:1"))


@pytest.mark.parametrize("data", [{"cost_usd": -1}, {"cost_usd": "much"}, {"dry_run": "maybe"}, {"person": "anna"}])
async def test_what_is_asked_wrongly_is_refused(house: TidyHouse, data: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await house.tidy(**data)


async def test_each_memory_is_tidied_up_by_itself_and_shown_to_nobody_else(house: TidyHouse) -> None:
    await house.sessions.ensure(ROOM)
    group = scope_of(ROOM, Authority("system"), house.people).group
    rooms = f"memory/groups/{group}.md"
    house.note(1, "The canary sings", BOX)
    double = [entry("The canary sings", 2, person="anna"), entry("The canary sings!", 1, person="anna")]
    house.write("memory/people/anna.md", "# anna\n\n" + "".join(double))
    house.write("memory/people/me.md", f"# me\n\n{entry(BOX, 3)}")
    house.write(rooms, f"# room\n\n{entry('Tea at five', 2)}{entry('Tea at five.', 1)}{entry('The canary sings', 1)}")
    house.write("memory/shared.md", f"# Shared\n\n{entry(BOX, 4)}")

    done = await house.tidy()

    assert {key: done[key] for key in NOTHING} == NOTHING
    assert done["others"] == {"areas": 2, "promoted": 0, "merged": 2, "contradictions": 0, "removed": 0, "gave_up": 0}
    assert "~~The canary sings~~" in house.read("memory/people/anna.md")
    assert "~~Tea at five~~" in house.read(rooms)
    assert not (house.workspace / "MEMORY.md").exists()
    assert await house.changes() == []
    assert [each.reason for each in await house.changes(ANNA)] == ["tidy"]
    [theirs] = await house.changes(MemoryScope(None, private=False, group=group))
    assert "canary sings~~" not in theirs.diff


async def test_another_person_tidies_up_their_own(house: TidyHouse, openai_server: OpenAIServer) -> None:
    answering(openai_server, "contradicts")
    a_mess(house)
    house.write("memory/people/anna.md", f"# anna\n\n{entry(BOILER, 2)}{entry(NOT_TUESDAY, 1)}")
    house.write("memory/shared.md", f"# Shared\n\n{entry(BOX, 4)}{entry(BOX, 3)}")
    owners = house.read("MEMORY.md")

    done = await house.tidy(ANNAS)

    assert [each["newer"]["path"] for each in done["contradictions"]] == ["memory/people/anna.md"]
    assert BOILER in house.read("memory/people/anna/to-be-settled.md")
    assert house.read("MEMORY.md") == owners
    assert "~~" not in house.read("memory/shared.md")
    assert done["others"]["areas"] == 0


async def test_words_from_outside_are_neither_kept_nor_shown(house: TidyHouse) -> None:
    outside = "Call 0900 for a prize"
    house.note(3, outside, trusted=False)
    house.note(2, outside, trusted=False)
    house.write(
        "memory/people/me.md",
        f"# me\n\n{entry(BOX, 3)}{entry(outside, 2, trusted=False)}{entry(BOX, 1)}",
    )

    done = await house.tidy()

    assert done["merged"] == 1
    assert "0900" not in json.dumps(done)


async def test_somebody_elses_trouble_does_not_keep_the_rest_from_being_done(house: TidyHouse) -> None:
    a_mess(house)
    (house.workspace / "memory/people").mkdir(parents=True)
    (house.workspace / "memory/people/anna.md").write_bytes(b"# anna\n\n" + b"x" * 1_100_000)

    done = await house.tidy()

    assert done["promoted"] == 2


async def test_a_full_file_is_told_of(house: TidyHouse) -> None:
    house.write("MEMORY.md", "# Memory\n\n" + "Long words of the owner. " * 700)
    house.note(2, BOX)
    house.note(1, BOX)

    done = await house.tidy()

    assert done["promoted"] == 0
    assert "16,000 bytes" in done["problems"][0]


# --- meaning, and a model ---


async def test_what_a_model_calls_the_same_counts(tmp_path: Path, openai_server: OpenAIServer) -> None:
    answering(openai_server, "same")
    meaning = Meaning()
    async with tidying(tmp_path, openai_server.base_url, meaning=meaning) as house:
        house.note(3, "Rubbish is collected Mondays")
        house.note(2, "The bins go out on Monday")
        meaning.pairs = [("Rubbish is collected Mondays", "The bins go out on Monday", 0.94)]

        done = await house.tidy()

        assert done["promoted"] == 1
        assert f"also noted {day(3)}" in house.read("MEMORY.md")


async def test_a_model_judges_what_rules_cannot_tell(tmp_path: Path, openai_server: OpenAIServer) -> None:
    answering(openai_server, "updated")
    async with tidying(tmp_path, openai_server.base_url) as house:
        house.write("MEMORY.md", f"# Memory\n\n## People\n\n{entry('Anna lives in Bonn', 40, MemoryKind.PERSON)}")
        house.note(1, "Anna lives in Kiel", kind=MemoryKind.PERSON)

        done = await house.tidy()

        assert (done["promoted"], done["merged"], done["contradictions"]) == (1, 1, [])
        assert len(await house.usage()) == 1
        assert "~~Anna lives in Bonn~~" in house.read("MEMORY.md")
        assert "- Anna lives in Kiel\n" in house.read("MEMORY.md")
    [text] = asked(openai_server)
    assert "1. older" in text
    assert "<<<outside" in text


async def test_a_pair_is_asked_about_once_also_by_the_next_hub(tmp_path: Path, openai_server: OpenAIServer) -> None:
    answering(openai_server, "different")
    for _ in range(2):
        async with tidying(tmp_path, openai_server.base_url) as house:
            house.note(2, BOILER)
            house.note(1, NOT_TUESDAY)
            assert (await house.tidy())["summary"] == ""
            assert (await house.tidy())["summary"] == ""
    assert len(asked(openai_server)) == 1


async def test_what_was_said_of_a_pair_in_one_memory_decides_nothing_in_anothers(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    answering(openai_server, "updated")
    async with tidying(tmp_path, openai_server.base_url) as house:
        for folder, person in (("memory/people/anna", "anna"), ("memory", "me")):
            house.write(f"{folder}/{day(2)}.md", entry(BOILER, 2, person=person))
            house.write(f"{folder}/{day(1)}.md", entry(NOT_TUESDAY, 1, person=person))

        await house.tidy(ANNAS)
        await house.tidy()

    assert len(asked(openai_server)) == 2


async def test_what_judging_cost_is_told_with_what_led_to_it(tmp_path: Path, openai_server: OpenAIServer) -> None:
    answering(openai_server, "different")
    async with tidying(tmp_path, openai_server.base_url) as house:
        house.note(2, BOILER)
        house.note(1, NOT_TUESDAY)

        await house.tidy()

        [told] = house.told(EVENT_MEMORY_JUDGED)
    assert (told["agent_id"], told["model"], told["answered"]) == ("main", "test/model", True)
    assert told["usage"]["total_tokens"] > 0
    assert "boiler" not in str(told)


async def test_without_dollars_nobody_is_asked(tmp_path: Path, openai_server: OpenAIServer) -> None:
    answering(openai_server, "contradicts")
    async with tidying(tmp_path, openai_server.base_url) as house:
        house.note(2, BOILER)
        house.note(1, NOT_TUESDAY)

        assert (await house.tidy(cost_usd=0))["contradictions"] == []
    assert asked(openai_server) == []


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "Strike them all.",
            "全部划掉" * 100_000,
            '{"answers": []}',
            '{"answers": ["delete"]}',
            '{"answers": ["相同"]}',
        ),
        [{"tool_call": {"name": "forget", "arguments": {"query": "boiler"}, "id": "c"}}],
        *([{"status": 500}], [{"disconnect": True}]),
    ],
    ids=range(8),
)
async def test_a_model_that_does_not_judge_is_done_without_and_nothing_is_struck(
    tmp_path: Path, openai_server: OpenAIServer, answer: Any
) -> None:
    openai_server.rule(ASKED, answer)
    openai_server.rule("cannot be read", answer)
    async with tidying(tmp_path, openai_server.base_url) as house:
        house.write("MEMORY.md", f"# Memory\n\n{entry(BOILER, 5)}")
        house.note(1, NOT_TUESDAY)

        done = await house.tidy()

        assert (done["merged"], done["contradictions"]) == (0, [])
    assert 1 <= len(openai_server.requests()) <= ATTEMPTS


async def test_no_more_pairs_are_asked_about_than_a_run_may(tmp_path: Path, openai_server: OpenAIServer) -> None:
    answering(openai_server, *(["contradicts"] * BATCH))
    async with tidying(tmp_path, openai_server.base_url) as house:
        texts = [f"The code of the {word} gate is {{}}" for word in _words(PAIRS_LIMIT + 5)]
        house.note(2, *(text.format(17) for text in texts))
        house.note(1, *(text.format(18) for text in texts))

        first = await house.tidy(dry_run=True)
        asked_first = len(asked(openai_server))
        await house.tidy(dry_run=True)

    assert asked_first == PAIRS_LIMIT // BATCH
    assert len(asked(openai_server)) > asked_first
    assert len(first["contradictions"]) > 0


async def test_who_writes_meanwhile_wins_and_the_next_night_does_it(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.rule(ASKED, [{"hold": "judge"}, {"text": '{"answers": ["contradicts"]}'}])
    async with tidying(tmp_path, openai_server.base_url) as house:
        house.write("MEMORY.md", f"# Memory\n\n{entry(BOILER, 5)}")
        house.note(1, NOT_TUESDAY)
        running = asyncio.create_task(house.tidy())
        await house.until(lambda: asked(openai_server))
        house.write("MEMORY.md", f"# Memory\n\nmine\n\n{entry(BOILER, 5)}")
        openai_server.release("judge")

        with pytest.raises(Conflict):
            await running
        kept = house.read("MEMORY.md")
        done = await house.tidy()

        assert kept == f"# Memory\n\nmine\n\n{entry(BOILER, 5)}"
        assert len(done["contradictions"]) == 1
        assert "mine" in house.read("MEMORY.md")


@pytest.mark.parametrize("forgotten", ["The garage code is 7731", NOT_TUESDAY])
async def test_what_is_forgotten_meanwhile_is_not_brought_back(
    tmp_path: Path, openai_server: OpenAIServer, forgotten: str
) -> None:
    openai_server.rule(ASKED, [{"hold": "judge"}, {"text": '{"answers": ["contradicts"]}'}])
    async with tidying(tmp_path, openai_server.base_url) as house:
        house.write("MEMORY.md", f"# Memory\n\n{entry(BOILER, 9)}")
        house.note(1, NOT_TUESDAY)
        for ago in (2, 3):
            house.note(ago, "The garage code is 7731")
        running = asyncio.create_task(house.tidy())
        await house.until(lambda: asked(openai_server))
        await house.notes.forget(Forget(forgotten), agent_id="main", scope=OWNER)
        openai_server.release("judge")

        with pytest.raises(Conflict):
            await running

        assert forgotten not in "".join(house.read(path) for path in house.files())
        await house.tidy()
        assert forgotten not in house.read("MEMORY.md")


async def test_two_who_ask_at_once_do_it_once(house: TidyHouse) -> None:
    a_mess(house)

    answers = await asyncio.gather(*(house.tidy() for _ in range(3)))

    assert sorted(bool(each["change_id"]) for each in answers) == [False, False, True]


# --- what a model says, and what is kept of it ---


@pytest.mark.parametrize(
    "reply",
    ["", "[]", "{}", "null", '{"answers": "same"}', '{"answers": ["same"]}', '{"answers": [1, 2]}', "[" * 9_000,
     '{"answers": ["same", "delete"]}', '{"answers": ["same", "unsure"]}', '{"answers": ["same", "same", "same"]}'],
)  # fmt: skip
def test_any_reply_but_that_many_of_the_answers_is_refused(reply: str) -> None:
    with pytest.raises(ValueError, match=r"the reply is not|answer"):
        read_answers(reply, 2)


def test_a_reply_in_the_form_that_was_asked_for_is_taken() -> None:
    assert read_answers('```json\n{"answers": ["same", "updated"]}\n```', 2) == [Relation.SAME, Relation.UPDATED]


@given(st.text(), st.integers(0, 3))
def test_whatever_is_replied_is_taken_or_refused(reply: str, count: int) -> None:
    with suppress(ValueError):
        assert len(read_answers(reply, count)) == count


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version": 1, "data": [1]}', b'{"version": 1, "data": {"a": [2]}}'])
def test_kept_verdicts_that_are_damaged_are_asked_for_again(tmp_path: Path, damage: bytes) -> None:
    verdicts = Verdicts(tmp_path / "agent" / "tidy.json")
    verdicts.keep("private", {("a", "b"): Relation.SAME})
    kept = verdicts.of("private", [("a", "b"), ("a", "c")])
    (tmp_path / "agent" / "tidy.json").write_bytes(damage)

    assert kept == {("a", "b"): Relation.SAME}
    assert verdicts.of("private", [("a", "b")]) == {}


def test_of_very_many_verdicts_the_newest_are_kept(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "tidy.json")
    verdicts.keep("private", {(str(number), "x"): Relation.SAME for number in range(KEPT_LIMIT)})

    verdicts.keep("private", {("new", "x"): Relation.DIFFERENT})

    assert verdicts.of("private", [("0", "x"), ("1", "x"), ("new", "x")]) == {
        ("1", "x"): Relation.SAME,
        ("new", "x"): Relation.DIFFERENT,
    }


def _words(count: int) -> list[str]:
    letters = "bcdfghjklmnpqrtvwz"
    return [f"{letters[number // 18]}a{letters[number % 18]}o{letters[number % 18]}o" for number in range(count)]
