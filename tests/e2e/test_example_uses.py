"""Uses that people describe, played from their set-up to what arrives: in the real hub, over the platforms' doubles."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import RawTestServer

from hub.messaging.contract import ChannelState
from hub.storage.instance_lock import InstanceLock
from tests.channels.email_rig import mail
from tests.channels.test_initiative import ForwardClock
from tests.hub_fixture import HubFixture
from tests.integrations.tools.test_calendar import PASSWORD as CALENDAR_PASSWORD, CalDav
from tests.servers.discord_server import BOT, ROOM, DiscordServer
from tests.servers.forked import run
from tests.servers.mail_server import PASSWORD
from tests.servers.openai_server import OpenAIServer
from tests.servers.shared import dovecot
from tests.servers.telegram_server import TelegramServer
from tests.servers.whatsapp_server import (
    ADA as ADAS_ID,
    APP_SECRET,
    NUMBER_ID,
    TOKEN,
    VERIFY_TOKEN,
    WhatsAppServer,
)
from tests.until import until

ADA, EVE, FAMILY, SECOND_NUMBER = 7, 8, -100_5, "106540352242923"
ADA_OWNS = {"people": [{"id": "me", "name": "Ada", "owner": True, "identities": [f"telegram:user:{ADA}"]}]}
AT_ONCE = {"messages": {"inbound": {"debounce_ms": 0}}, "hub": {"time_zone": "UTC"}}


class Household:
    """A hub with chat apps, on a clock that a test puts forward."""

    def __init__(self, folder: Path, models: OpenAIServer) -> None:
        self.folder = folder / "home"
        self.models = models
        self.clock = ForwardClock()
        self._open = AsyncExitStack()
        self.telegram = TelegramServer()
        tomorrow = datetime.now(UTC).date() + timedelta(days=1)
        self.morning = datetime(tomorrow.year, tomorrow.month, tomorrow.day, 7, 20, tzinfo=UTC)
        self.clock.put_forward(self.morning.timestamp() - self.clock.time())

    async def start(self, *integrations: str, automations: str = "", **sections: Any) -> None:
        await self._open.enter_async_context(self.telegram)
        telegram = [{"token": self.telegram.token, "api_root": self.telegram.api_root, **sections.pop("telegram", {})}]
        self.hub = HubFixture(
            self.folder,
            self.models.base_url,
            sections={**ADA_OWNS, **AT_ONCE, "telegram": telegram, **sections},
            files={"configuration.yaml": "automation: !include automations.yaml\n", "automations.yaml": automations},
            integrations=("openai_compatible", "telegram", *integrations),
            clock=self.clock,
        )
        await self._open.enter_async_context(self.hub)
        lock = InstanceLock(self.folder)
        lock.acquire()
        self._open.callback(lock.release)
        lock.update("127.0.0.1", self.hub.port)
        await self.until_connected("telegram")

    async def stop(self) -> None:
        await self._open.aclose()

    async def until_connected(self, channel: str, account: str = "default") -> None:
        def connected() -> bool:
            attached = self.hub.channels.get(channel, account)
            return attached is not None and attached.status.state is ChannelState.CONNECTED

        await until(connected)

    async def command(self, *words: str) -> str:
        """Run a `homarus` command beside the hub."""
        environment = {"HOMARUS_CONFIG": str(self.folder), "PATH": "/usr/bin:/bin"}
        ran = await asyncio.to_thread(run, "hub", *words, environment=environment, timeout_s=60.0)
        assert ran.returncode == 0, ran.stderr
        return str(ran.stdout)

    def shown(self, chat: int = ADA) -> list[str]:
        return self.telegram.chats.shown(chat)

    async def until_shown(self, *texts: str, chat: int = ADA) -> None:
        try:
            await until(lambda: self.shown(chat) == [*texts])
        except TimeoutError:
            raise AssertionError((self.shown(chat), self.hub.log.read().lines[-30:])) from None

    def asked(self, words: str) -> list[dict[str, Any]]:
        """The requests to the model whose last words of a person or the hub contain these."""
        return [
            each["body"]
            for each in self.models.requests()
            if words in str([said["content"] for said in each["body"]["messages"] if said["role"] == "user"][-1:])
        ]

    async def until_next_run(self, automation: str) -> None:
        """Put the clock forward to when an automation is due that is there and does not run."""
        async with asyncio.timeout(60):
            while not (next_run := await self._next_run(automation)):
                pass
        self.clock.put_forward(datetime.fromisoformat(next_run).timestamp() - self.clock.time() + 1)

    async def _next_run(self, automation: str) -> str | None:
        listed = json.loads(await self.command("automation", "list", "--json"))
        found = [each for each in listed if automation in (each["id"], each["alias"]) and not each["current"]]
        return found[0]["next_run"] if found else None


@pytest.fixture
async def household(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Household]:
    made = Household(tmp_path, openai_server)
    yield made
    await made.stop()


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"name": name, "arguments": arguments}}


HEARTBEAT = """\
- alias: Heartbeat
  use_blueprint:
    path: homarus/heartbeat.yaml
    input: {every: {minutes: 30}, checks: 1}
"""
CHECKS = """\
- Unread mail that cannot wait (every 2h)
- The calendar: who must be where (every 2h)
- tasks.md: what is overdue (every 2h)
- The repository notes: changes that nobody committed (every 2h)
"""
EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:dentist
DTSTART:{day}T160000Z
DTEND:{day}T163000Z
SUMMARY:Dentist
END:VEVENT
END:VCALENDAR"""


async def test_a_heartbeat_looks_at_mail_calendar_tasks_and_git_in_turn(household: Household) -> None:
    models, server, caldav = household.models, dovecot(), CalDav()
    models.rule("Unread mail", calls("mail", action="search", unread=True))
    models.rule("Unread mail", "The landlord writes: no water on Friday.", tool_result="No water on Friday")
    models.rule("The calendar", calls("calendar", action="events"))
    models.rule("The calendar", "HEARTBEAT_OK", tool_result="Dentist")
    models.rule("tasks.md", calls("read", path="tasks.md"))
    models.rule("tasks.md", "The tax return was due on Monday.", tool_result="Tax return")
    models.rule("The repository", calls("exec", command="git -C /agent/notes status --short", host="sandbox"))
    models.rule("The repository", "You have not committed plan.md.", tool_result=r"\?\? plan\.md")
    models.rule("hello", "Hello Ada.")
    mailbox = {"address": "uses@home.test", "username": "uses", "password": PASSWORD, "tool": True}
    mailbox |= {"imap_host": "127.0.0.1", "imap_port": server.port, "imap_security": "none"}
    mailbox |= {"smtp_host": "127.0.0.1", "smtp_port": 9, "smtp_security": "none", "authserv_id": "mx.home.test"}
    letter = mail("The water will be off from nine to noon.", "landlord", Subject="No water on Friday")
    await asyncio.to_thread(server.deliver, "uses", letter.as_bytes())
    caldav.stored["/dav/dentist.ics"] = EVENT.format(day=household.morning.strftime("%Y%m%d"))
    async with RawTestServer(caldav.answer) as calendars:
        url = f"http://127.0.0.1:{calendars.port}/dav/"
        await household.start(
            "email",
            "calendar",
            "files",
            "shell",
            "bubblewrap",
            automations=HEARTBEAT,
            email=[mailbox],
            network={"allow_private": [f"127.0.0.1:{calendars.port}"]},
            calendar={"calendars": {"family": {"url": url, "username": "me", "password": CALENDAR_PASSWORD}}},
            agents=[{"id": "main", "sandbox": {"mode": "off", "workspace_access": "ro"}}],
        )
        workspace = household.folder / "workspace"
        (workspace / "HEARTBEAT.md").write_text(CHECKS)
        (workspace / "tasks.md").write_text("- Tax return, due Monday\n")
        await asyncio.to_thread(subprocess.run, ("git", "init", "-q", str(workspace / "notes")), check=True)
        (workspace / "notes" / "plan.md").write_text("Plant beans.\n")
        household.telegram.chats.says("hello")
        await household.until_shown("Hello Ada.")
        told = ["Hello Ada."]

        await household.until_next_run("heartbeat")
        await household.until_shown(*(told := [*told, "The landlord writes: no water on Friday."]))
        await household.until_next_run("heartbeat")
        await until(lambda: len(household.asked("The calendar")) == 2)
        await household.until_next_run("heartbeat")
        await household.until_shown(*(told := [*told, "The tax return was due on Monday."]))
        await household.until_next_run("heartbeat")
        await household.until_shown(*told, "You have not committed plan.md.")


async def test_a_morning_briefing_and_a_meeting_twenty_minutes_ahead_come_to_the_phone(household: Household) -> None:
    models = household.models
    models.rule("what matters today", "Dentist at four. Rain from noon.")
    models.rule("Meeting with Kim at 10:00", "In 20 minutes you meet Kim; take the contract along.")
    models.rule("hello", "Hello Ada.")
    await household.start("reminders")
    household.telegram.chats.says("hello")
    await household.until_shown("Hello Ada.")
    briefing = ("--cron", "30 7 * * *", "--message", "Tell me what matters today", "--name", "Briefing")
    await household.command("cron", "add", *briefing, "--channel", "telegram", "--to", str(ADA))
    event = ("--at", "09:40", "--system-event", "Meeting with Kim at 10:00", "--name", "Kim", "--wake", "now")
    await household.command("cron", "add", *event)

    await household.until_next_run("Briefing")
    await household.until_shown("Hello Ada.", briefing_said := "Dentist at four. Rain from noon.")
    await household.until_next_run("Kim")
    await household.until_shown("Hello Ada.", briefing_said, "In 20 minutes you meet Kim; take the contract along.")
    assert household.clock.time() - household.morning.timestamp() < 3 * 3_600


async def test_a_family_bot_reads_and_calculates_in_a_sandbox_and_writes_nothing(household: Household) -> None:
    models = household.models
    models.rule("dinner", calls("exec", command="cat /agent/dinner.md"))
    models.rule("dinner", "Soup.", tool_result="Soup on Tuesday")
    models.rule("add fish", calls("exec", command="touch /agent/dinner.md"))
    models.rule("add fish", "I cannot write here.", tool_result="Read-only file system")
    models.rule("a note", calls("write", path="note.md", content="Fish"))
    models.rule("a note", "I have no tool for that.", tool_result="write")
    family = {"id": "family", "sandbox": {"mode": "all", "workspace_access": "ro"}}
    family["tools"] = {"allow": ["read", "exec"]}
    await household.start(
        "files",
        "shell",
        "bubblewrap",
        people=[*ADA_OWNS["people"], {"id": "eve", "name": "Eve", "identities": [f"telegram:user:{EVE}"]}],
        agents=[{"id": "main", "default": True}, family],
        telegram={"groups": {str(FAMILY): {"require_mention": False, "agent": "family"}}},
    )
    (household.folder / "workspace-family" / "dinner.md").write_text("Soup on Tuesday")
    household.telegram.chats.says("What is for dinner?", chat=FAMILY, who=EVE)
    await household.until_shown("Soup.", chat=FAMILY)
    household.telegram.chats.says("Then add fish.", chat=FAMILY, who=EVE)
    await household.until_shown("Soup.", "I cannot write here.", chat=FAMILY)
    household.telegram.chats.says("Make a note of it.", chat=FAMILY, who=EVE)
    await household.until_shown("Soup.", "I cannot write here.", "I have no tool for that.", chat=FAMILY)


async def test_whatsapp_is_for_every_day_and_telegram_for_deep_work(household: Household) -> None:
    models = household.models
    async with WhatsAppServer() as whatsapp:
        whatsapp.tokens[SECOND_NUMBER] = TOKEN
        keys = {"access_token": TOKEN, "app_secret": APP_SECRET, "verify_token": VERIFY_TOKEN}
        keys["api_root"] = whatsapp.root
        everyday, club = ({"id": name, "model": "test/quick"} for name in ("everyday", "club"))
        numbers = [{"account": "home", "phone_number_id": NUMBER_ID, **keys}]
        numbers += [{"account": "club", "phone_number_id": SECOND_NUMBER, **keys}]
        await household.start(
            "whatsapp",
            people=[{**ADA_OWNS["people"][0], "identities": [f"telegram:user:{ADA}", f"whatsapp:user:{ADAS_ID}"]}],
            whatsapp=numbers,
            agents=[{"id": "deep", "default": True, "model": "test/thorough"}, everyday, club],
            bindings=[
                {"agent": "everyday", "match": {"channel": "whatsapp", "account": "home"}},
                {"agent": "club", "match": {"channel": "whatsapp", "account": "club"}},
            ],
        )
        whatsapp.hub = f"{household.hub.url}/whatsapp"
        for words, model in (("Milk?", "quick"), ("Next match?", "quick"), ("Plan the barn", "thorough")):
            models.rule(re.escape(words), f"{model}: {words}")
        household.telegram.chats.says("Plan the barn")
        whatsapp.says("text", {"body": "Milk?"})
        whatsapp.says("text", {"body": "Next match?"}, number=SECOND_NUMBER)

        await household.until_shown("thorough: Plan the barn")
        await until(lambda: len(whatsapp.sent) == 2)
    assert [household.asked(words)[0]["model"] for words in ("barn", "Milk", "match")] == ["thorough", "quick", "quick"]
    assert {each["text"]["body"] for each in whatsapp.sent} == {"quick: Milk?", "quick: Next match?"}
    assert {each.name for each in (household.folder / ".storage" / "agents").iterdir()} == {"deep", "everyday", "club"}


async def test_a_monitor_has_a_thread_on_discord_that_answers_until_unfocus_and_over_a_restart(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    models, monitor = (
        openai_server,
        calls("sessions_spawn", task="watch the load of the machine", label="性能监控", thread=True),
    )
    models.rule("启动性能监控", monitor)
    models.rule("启动性能监控", "好的，我在话题串里汇报。", tool_result="accepted")
    models.rule(r"(?s)\A(?!.*Subagent results).*watch the load", "负载 0.4，一切正常。")
    models.rule("Subagent results", "监控已开始：负载 0.4。")
    models.rule("状态如何", "负载现在是 0.5。")
    models.rule("还在吗", "我是平时的助手。")
    async with DiscordServer() as discord:
        owner = {"id": "me", "name": "Ada", "owner": True, "identities": ["discord:user:7"]}
        bot = {"token": discord.token, "api_root": discord.root, "groups": {ROOM: {}}}

        def hub() -> HubFixture:
            return HubFixture(
                tmp_path / "home",
                models.base_url,
                sections={**AT_ONCE, "people": [owner], "discord": [bot]},
                integrations=("openai_compatible", "discord", "sessions"),
            )

        def said(room: str) -> list[str]:
            return [each["content"] for each in discord.messages[room] if each["author"]["id"] == BOT["id"]]

        async def ask(words: str, answer: str) -> None:
            known = len(said(thread))
            await discord.say(words, thread)
            await until(lambda: said(thread)[known:] == [answer])

        async with hub():
            rooms = set(discord.channels)
            await until(lambda: discord.connected)
            await discord.say("<@900> 启动性能监控", mentions=[BOT])
            thread = await until(lambda: next((id for id in discord.channels if id not in rooms), ""))
            await until(lambda: said(thread)[1:] == ["监控已开始：负载 0.4。"])
            await ask("状态如何？", "负载现在是 0.5。")
        async with hub():
            await until(lambda: discord.connected)
            await ask("状态如何？", "负载现在是 0.5。")
            await ask("/unfocus", "What you write here goes to me again, and no longer to 性能监控.")
            known = len(said(thread))
            await discord.say("<@900> 还在吗？", thread, mentions=[BOT])
            await until(lambda: said(thread)[known:] == ["我是平时的助手。"])
    asked = [each["body"]["messages"] for each in models.requests()]
    assert ["watch the load" in str(each) for each in asked if "状态如何" in str(each[-1])] == [True, True]
    assert ["watch the load" in str(each) for each in asked if "还在吗" in str(each[-1])] == [False]
