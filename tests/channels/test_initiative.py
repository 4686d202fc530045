"""What the hub says by itself, through the real hub: in the chat, thread and account that it is for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.agent.subagents.spawning import SpawnRequest
from hub.core.clock import Clock
from hub.core.context import SCOPES, Authority, Context
from hub.core.ids import new_id
from hub.hub import Hub
from hub.messaging.contract import ChannelLimits, ChannelState
from hub.storage.homedir import Home
from hub.tools.approval import Ask
from tests.channels.kit import ADA, ANSWER, Can, Rig, access_of
from tests.channels.registry import RIGS, rigs_that
from tests.e2e.homes import MODELS
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S, LOOK_S, until

OWNER = Authority("owner", person="me", scopes=SCOPES, owner=True)
ACCOUNTS = ("default", "second")
THREAD = "77"
DUE_S = 2
"""After which what is to come in a second is due, however times are rounded."""


SECTIONS = """\
automation: !include automations.yaml
messages: {inbound: {debounce_ms: 0}, media: {transcription_model: test/other}}
speech: {model: test/other, voice: alloy, format: opus}
"""
HEARTBEAT = """\
- id: heart
  triggers: [{trigger: event, event_type: heartbeat_wake}]
  actions: [{action: agent.heartbeat}]
"""


class ForwardClock(Clock):
    """The real clock, which a test puts forward; whoever sleeps looks at it again."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._moved = asyncio.Event()

    def time(self) -> float:
        return super().time() + self._ahead_s

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead_s

    async def sleep(self, seconds: float) -> None:
        end = self.monotonic() + seconds
        await asyncio.sleep(0)
        while (left_s := end - self.monotonic()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), left_s)

    def put_forward(self, seconds: float) -> None:
        self._ahead_s += seconds
        self._moved.set()
        self._moved = asyncio.Event()


class Household:
    """A hub with two accounts of a platform; Ada, who owns the home, writes to one of them."""

    def __init__(self, folder: Path, rig: Rig, base_url: str) -> None:
        self.rig = rig
        self.clock = ForwardClock()
        self.account = ACCOUNTS[-1] if Can.TWO_ACCOUNTS in rig.can else ACCOUNTS[0]
        if Can.TWO_ACCOUNTS in rig.can:
            rig.writes_to(self.account)
        self._folder = folder
        self._home = Home(folder / "home")
        self._home.create()
        (self._home.path / "automations.yaml").write_text(HEARTBEAT)
        people = f"people: [{{id: me, name: Me, owner: true, identities: ['{rig.identity(ADA)}']}}]\n"
        models = MODELS.format(base_url=base_url).replace("id: scripted", "id: scripted, images: true")
        text = f"{people}{SECTIONS}{models}"
        (self._home.path / "configuration.yaml").write_text(text)

    async def start(self) -> None:
        self.hub = Hub(self._home, port=0, clock=self.clock)
        await self.hub.start()
        for account in ACCOUNTS:
            channel = self.rig.channel(self._folder, self.hub.clock, account)
            await self.hub.channels.add(channel, access_of(self.rig))
        await until(lambda: all(self.status(each).state is ChannelState.CONNECTED for each in ACCOUNTS))
        if Can.TWO_ACCOUNTS in self.rig.can:
            assert len({self.status(each).account_id for each in ACCOUNTS}) == len(ACCOUNTS)
        await self.rig.until_back()

    async def stop(self) -> None:
        for account in ACCOUNTS:
            await self.hub.channels.remove(self.rig.name, account)
        await self.hub.stop()

    def status(self, account: str) -> Any:
        attached = self.hub.channels.get(self.rig.name, account)
        assert attached is not None
        return attached.status

    @property
    def is_weak(self) -> bool:
        """Whether what Ada writes here is never an order of the owner's."""
        return self.limits.weak_identity

    @property
    def limits(self) -> ChannelLimits:
        """What the account that Ada writes to can send."""
        attached = self.hub.channels.get(self.rig.name, self.account)
        assert attached is not None
        return attached.channel.limits

    async def rpc(self, method: str, **params: Any) -> Any:
        headers = {"Authorization": f"Bearer {(self._home.storage / 'hub_token').read_text().strip()}"}
        async with (
            aiohttp.ClientSession() as client,
            client.post(
                f"{self.hub.gateway.url}/api/rpc", json={"method": method, "params": params}, headers=headers
            ) as got,
        ):
            answer = await got.json()
        assert answer.get("ok"), answer
        return answer["payload"]

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        return await self.hub.db.read(lambda connection: connection.execute(sql, values).fetchall())

    async def until_shown(self, *texts: str, **where: Any) -> None:
        """Wait until the chat shows these texts among others, each sent from the account that Ada writes to."""

        def missing() -> list[str]:
            shown = self.rig.shows(**where)
            return [text for text in texts if not any(text in each for each in shown)]

        with suppress(TimeoutError):
            await until(lambda: missing() == [])
        assert missing() == [], await self.rows("SELECT channel, account, peer, state, text, error FROM outbox")
        sql = "SELECT account FROM outbox WHERE channel = ? AND text LIKE ?"
        for text in texts:
            assert await self.rows(sql, self.rig.name, f"%{text}%") == [(self.account,)], text


@pytest.fixture
async def household(rig: Rig, tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Household]:
    household = Household(tmp_path, rig, openai_server.base_url)
    await household.start()
    yield household
    await household.stop()


def writes_first(rig: Rig) -> bool:
    return not rig.only_answers


def is_typical(rig: Rig) -> bool:
    """Whether it stands for all where the hub alone decides: with buttons, without, and where nobody is proved."""
    return rig.name in ("telegram", "signal", "sms")


async def speaks_up(household: Household, models: OpenAIServer, when: str, key: str) -> None:
    """Let the hub say everything that it says by itself; each of it has to arrive."""
    hub, texts = household.hub, {name: f"{name} {when}" for name in ("person", "conversation", "remind", "subagent")}
    remind = {"name": "schedule", "arguments": {"action": "add", "at": "1s", "text": texts["remind"]}}
    models.rule(f"remind me {when}", {"tool_call": remind})
    models.rule(f"remind me {when}", f"I shall {when}", tool_result="added")
    models.rule(f"look {when}", f"found {when}")
    models.rule(f"found {when}", texts["subagent"])

    await household.rpc("service.call", service="notify.me", data={"message": texts["person"]})
    said = {"text": texts["conversation"], "session_key": key}
    await household.rpc("service.call", service="message.send", data=said)
    if household.is_weak:  # what would act later takes a yes on another channel
        del texts["remind"]
    else:
        await household.rig.says(f"remind me {when}")
    ((run_id,),) = await household.rows("SELECT run_id FROM inbox WHERE session_key = ? ORDER BY position LIMIT 1", key)
    await hub.subagents.spawn(SpawnRequest(f"look {when}", Context(OWNER), key, "main", run_id))
    if "remind" in texts:
        await household.until_shown(f"I shall {when}")
        household.clock.put_forward(DUE_S)
    await household.until_shown(*texts.values())


async def speaks_up_to_the_owner(household: Household, models: OpenAIServer, when: str) -> None:
    """Let the hub say what it says to an owner wherever they are."""
    hub = household.hub
    texts = {name: f"{name} {when}" for name in ("last", "notify", "cron", "event", "gateway", "tool", "approval")}
    at = {"kind": "at", "at": "1s"}
    for name in ("cron", "gateway"):
        models.rule(f"say {name} {when}", texts[name])
    models.rule(f"{texts['event']} happened", texts["event"])

    await household.rpc("service.call", service="message.send", data={"text": texts["last"]})
    await household.rpc("service.call", service="notify.notify", data={"message": texts["notify"]})
    await household.rpc("cron.add", schedule=at, payload={"kind": "agentTurn", "message": f"say cron {when}"})
    await household.rpc("agent", message=f"say gateway {when}", deliver=True, idempotencyKey=new_id())
    await household.rpc("tools.invoke", name="message", args={"action": "send", "text": texts["tool"]})
    await household.until_shown(texts["gateway"])  # a turn that begins later would take the event
    hub.tasks.spawn(hub.approvals.ask(Ask("tool", texts["approval"], "why", {}, Context(OWNER))), name="asks")
    happened = {"kind": "systemEvent", "text": f"{texts['event']} happened"}
    await household.rpc("cron.add", schedule=at, sessionTarget="main", wakeMode="now", payload=happened)
    household.clock.put_forward(DUE_S)
    await household.until_shown(*texts.values())


async def greeted(household: Household, models: OpenAIServer) -> str:
    """Let Ada say hello; return her conversation."""
    models.set_default(ANSWER)
    await household.rig.says("hello")
    await until(lambda: ANSWER in household.rig.shows())
    ((key,),) = await household.rows("SELECT session_key FROM inbox WHERE session_key IS NOT NULL")
    return str(key)


async def before_and_after_a_restart(household: Household) -> AsyncIterator[str]:
    yield "before"
    await household.stop()
    await household.start()
    yield "afterwards"


@rigs_that(where=is_typical)
async def test_what_the_hub_says_by_itself_arrives_also_after_a_restart(
    household: Household, openai_server: OpenAIServer
) -> None:
    key = await greeted(household, openai_server)

    async for when in before_and_after_a_restart(household):
        await speaks_up(household, openai_server, when, key)
        if not household.is_weak:
            await speaks_up_to_the_owner(household, openai_server, when)


@rigs_that(where=writes_first)
async def test_a_conversation_and_a_person_are_written_to_first_also_after_a_restart(
    household: Household, openai_server: OpenAIServer
) -> None:
    key = await greeted(household, openai_server)

    async for when in before_and_after_a_restart(household):
        said = {"text": f"conversation {when}", "session_key": key}
        await household.rpc("service.call", service="message.send", data=said)
        await household.rpc("service.call", service="notify.me", data={"message": f"person {when}"})
        await household.until_shown(f"conversation {when}", f"person {when}")


@rigs_that(where=lambda rig: rig.only_answers)
async def test_a_reminder_that_its_platform_does_not_let_through_is_a_dead_letter_that_says_why(
    household: Household, rig: Rig, openai_server: OpenAIServer
) -> None:
    openai_server.set_default(ANSWER)
    remind = {"name": "schedule", "arguments": {"action": "add", "at": "2h", "text": "tea"}}
    openai_server.rule("remind me", {"tool_call": remind})
    openai_server.rule("remind me", ANSWER, tool_result="added")
    await rig.says("remind me")
    await until(lambda: rig.shows() == [ANSWER])

    household.clock.put_forward(2 * 3_600 + DUE_S)

    async with asyncio.timeout(LIMIT_S):
        while not (dead := await household.rows("SELECT text, error FROM outbox WHERE state = 'dead'")):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
    ((text, error),) = dead
    assert "tea" in text
    assert "only answer" in error
    assert rig.shows() == [ANSWER]


@rigs_that(Can.THREADS)
async def test_what_is_said_into_a_thread_stays_there_also_after_a_restart(
    household: Household, rig: Rig, openai_server: OpenAIServer
) -> None:
    openai_server.set_default(ANSWER)
    await rig.says("in here", group=True, thread=THREAD)
    await until(lambda: ANSWER in rig.shows(group=True, thread=THREAD))
    await rig.says("out here", group=True)
    await until(lambda: rig.shows(group=True).count(ANSWER) == 2)
    (key,), *_ = await household.rows("SELECT session_key FROM inbox ORDER BY position")

    for text in ("before", "afterwards"):
        if text == "afterwards":
            await household.stop()
            await household.start()
        await household.rpc("service.call", service="message.send", data={"text": text, "session_key": key})
        await household.until_shown(text, group=True, thread=THREAD)


def test_on_nearly_every_channel_people_can_write_to_a_second_account() -> None:
    assert [rig().name for rig in RIGS if Can.TWO_ACCOUNTS not in rig().can] == ["matrix"]
