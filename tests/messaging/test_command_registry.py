"""Every command there is, in a running hub: each answers everybody, in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace

from hub.core.context import Authority, Context
from hub.core.surfaces import Caller, MethodCall
from hub.hub import Hub
from hub.messaging.commands.registry import ChatCommand, CommandCall, CommandPlace, Commands
from hub.messaging.contract import Address, ChatType, InboundMessage
from hub.messaging.texts import languages
from hub.storage.homedir import Home
from tests.docs.pages import DOCS

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMES = re.findall(r"^\| `/(\w+)", (DOCS / "commands.md").read_text(encoding="utf-8").split("# All commands")[1], re.M)
CHINESE = re.compile(r"[\u4e00-\u9fff]")
OWNER = Authority("peer:test:user:7", person="me", owner=True)
PERSON = Authority("peer:test:user:8", person="anna")
STRANGER = Authority("peer:test:user:9")
MESSAGE = InboundMessage(Address("test", "7"), "1", "test:user:7", "/approve")


@dataclass
class CommandHome:
    """A hub that knows two people."""

    hub: Hub
    restarted: list[bool] = field(default_factory=list)

    async def asked(self, text: str, authority: Authority = OWNER, *, group: bool = False) -> str:
        """Return what a command answers."""
        name, _, arguments = text.removeprefix("/").partition(" ")
        address = Address("test", "7", chat_type=ChatType.GROUP if group else ChatType.DIRECT)
        message = InboundMessage(address, "1", authority.principal.removeprefix("peer:"), text)
        key = "agent:main:main" if authority.owner else "agent:main:test:direct:8"
        by_owner = authority.owner
        reply = await self.hub.commands.run(
            CommandCall(name, arguments, message, "main", key, Context(authority), by_owner)
        )
        return reply.as_text()

    def command(self, name: str) -> ChatCommand:
        found = self.hub.commands.get(name)
        assert found is not None
        return found


@asynccontextmanager
async def _started(folder: Path, language: str) -> AsyncIterator[CommandHome]:
    (folder / "configuration.yaml").write_text(
        f"hub: {{name: Home, language: {language}}}\n"
        "people:\n"
        "  - {id: me, name: Me, owner: true, identities: ['test:user:7']}\n"
        "  - {id: anna, name: Anna, identities: ['test:user:8']}\n"
        "irc: [{account: default, host: 127.0.0.1, port: 1, tls: false, nick: homarus}]\n"
    )
    hub = Hub(Home(folder), host="127.0.0.1", port=0)
    home = CommandHome(hub)
    await hub.start(on_restart=lambda: home.restarted.append(True))
    yield home
    await hub.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CommandHome]:
    async with _started(tmp_path_factory.mktemp("english"), "en") as home:
        yield home


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chinese_home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CommandHome]:
    async with _started(tmp_path_factory.mktemp("chinese"), "zh-CN") as home:
        yield home


async def test_every_command_is_in_the_documentation(home: CommandHome) -> None:
    own = [command.name for command in home.hub.commands.all() if not command.help]  # others are integrations'
    assert sorted(NAMES) == sorted(own)


async def test_the_sentences_of_every_language_are_complete() -> None:
    folder = Path(__file__).parents[2] / "hub" / "messaging" / "locale"
    found = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in languages()}

    assert set(found) == {"en", "zh-CN"}
    assert found["en"].keys() == found["zh-CN"].keys()
    for key, sentence in found["en"].items():
        placeholders = set(re.findall(r"{\w+}", sentence))
        assert set(re.findall(r"{\w+}", found["zh-CN"][key])) == placeholders, key


@pytest.mark.parametrize("name", NAMES)
async def test_a_command_answers_in_every_language(home: CommandHome, chinese_home: CommandHome, name: str) -> None:
    command = home.command(name)
    group = command.where is CommandPlace.GROUP

    english = await home.asked(f"/{name}", group=group)
    chinese = await chinese_home.asked(f"/{name}", group=group)

    assert english.strip()
    assert "did not work" not in english or name == "trust"  # there is no conversation yet to be trusted
    assert not CHINESE.search(english)
    assert CHINESE.search(chinese)
    assert CHINESE.search(command.about("zh-CN"))
    assert "{" not in english + chinese


@pytest.mark.parametrize("name", NAMES)
async def test_a_command_refuses_those_it_is_not_for(home: CommandHome, name: str) -> None:
    command = home.command(name)
    group = command.where is CommandPlace.GROUP

    person = await home.asked(f"/{name}", PERSON, group=group)
    stranger = await home.asked(f"/{name}", STRANGER, group=group)
    elsewhere = await home.asked(f"/{name}", group=not group)

    assert (f"/{name} is for an owner" in person) is command.owner_only
    assert (f"/{name} is for " in stranger) is (command.owner_only or command.people_only)
    assert ("in a direct chat" in elsewhere) is (command.where is CommandPlace.DIRECT)
    assert ("is for groups" in elsewhere) is group


@pytest.mark.parametrize("name", NAMES)
async def test_a_command_with_choices_lists_them_when_it_does_not_know_an_argument(
    home: CommandHome, name: str
) -> None:
    command = home.command(name)

    answered = await home.asked(f"/{name} levitate", group=command.where is CommandPlace.GROUP)

    assert ("does not know levitate" in answered) is bool(command.choices)
    assert all(choice in answered for choice in command.choices)


@pytest.mark.parametrize("name", NAMES)
async def test_a_command_explains_itself(home: CommandHome, name: str) -> None:
    answered = await home.asked(f"/help {name}")

    assert home.command(name).usage in answered
    assert home.command(name).about("en") in answered


@pytest.mark.parametrize(
    ("written", "field", "kept"),
    [
        ("/think high", "thinking", "high"),
        ("/think ultra", "thinking", "high"),
        ("/think default", "thinking", None),
        ("/t off", "thinking", "off"),
        ("/verbose on", "verbose", "on"),
        ("/reasoning stream", "reasoning", "stream"),
        ("/usage tokens", "footer", "tokens"),
        ("/send off", "send", "off"),
        ("/send inherit", "send", None),
        ("/model offline", "model", "offline"),
        ("/model default", "model", None),
    ],
)
async def test_a_setting_is_kept_for_the_conversation(
    home: CommandHome, written: str, field: str, kept: str | None
) -> None:
    answered = await home.asked(written)

    session = home.hub.sessions.get("agent:main:main")
    assert session is not None
    assert getattr(session, field) == kept
    assert "did not work" not in answered
    if kept and field != "model":
        assert f"{field} {kept}" in await home.asked("/status")


async def test_the_activation_of_a_group_is_its_owners_choice(home: CommandHome) -> None:
    await home.asked("/activation always", group=True)
    refused = await home.asked("/activation mention", PERSON, group=True)

    session = home.hub.sessions.get("agent:main:main")
    assert session is not None
    assert session.activation == "always"
    assert "owner" in refused


async def test_the_configuration_is_read_and_changed_in_a_chat(home: CommandHome) -> None:
    before = await home.asked("/config get hub.time_zone")
    changed = await home.asked("/config set hub.time_zone Europe/Berlin")
    wrong = await home.asked("/config set hub.time_zone Atlantis")
    forbidden = await home.asked("/config set people []")

    assert before == "hub.time_zone: UTC"
    assert "Europe/Berlin" in changed
    assert home.hub.time_zone == "Europe/Berlin"
    assert "did not work" in wrong
    assert "people cannot be changed in a chat" in forbidden


async def test_a_conversation_is_written_to_a_file(home: CommandHome) -> None:
    session = await home.hub.sessions.ensure("agent:main:main")

    markdown = await home.asked("/export")
    data = await home.asked("/export jsonl")

    files = sorted((home.hub.home.path / "exports").iterdir())
    assert [file.suffix for file in files] == [".jsonl", ".md"]
    assert all(file.stat().st_mode & 0o77 == 0 for file in files)
    assert session.session_id in files[0].read_text()
    assert str(files[1].name) in markdown
    assert str(files[0].name) in data


async def test_a_restart_begins_after_its_answer(home: CommandHome) -> None:
    home.restarted.clear()

    answered = await home.asked("/restart")

    assert "restarts" in answered
    assert home.restarted == []


async def test_memory_is_searched(home: CommandHome) -> None:
    nothing = await home.asked("/memory search zeppelin")
    what = await home.asked("/memory search")

    assert "Nothing is remembered" in nothing
    assert "/memory search boiler" in what


async def test_clients_are_given_the_same_list(home: CommandHome) -> None:
    method = await home.hub.gateway.methods.load("commands.list")
    assert method is not None

    listed = (
        await method.handler(MethodCall("commands.list", {}, Caller(OWNER, "hub", "127.0.0.1", True), Context(OWNER)))
    )["commands"]

    known = {each["name"]: each for each in listed}
    assert known.keys() == {command.name for command in home.hub.commands.all() if command.listed}
    assert known["think"] == {
        "name": "think",
        "nativeName": "think",
        "textAliases": ["/think", "/thinking", "/t"],
        "description": "choose how much the model thinks before it answers",
        "category": "options",
        "source": "native",
        "scope": "both",
        "acceptsArgs": True,
        "args": [
            {
                "name": "arguments",
                "description": "[off|minimal|low|medium|high|default]",
                "type": "string",
                "required": False,
                "choices": [
                    {"value": each, "label": each} for each in ("off", "minimal", "low", "medium", "high", "default")
                ],
            }
        ],
    }
    assert not known["status"]["acceptsArgs"]


async def test_an_owner_lets_somebody_write_and_takes_that_back(home: CommandHome) -> None:
    nobody = await home.asked("/allowlist")
    added = await home.asked("/allowlist add irc:account:berta")
    listed = await home.asked("/allowlist list")
    removed = await home.asked("/allowlist remove irc:account:berta")
    unknown = await home.asked("/allowlist add morse:user:1")
    malformed = await home.asked("/allowlist add irc:berta")

    assert "Nobody" in nobody
    assert "irc:account:berta may write now." in added
    assert "- irc (default): irc:account:berta" in listed
    assert "may not write any more" in removed
    assert "Nobody" in await home.asked("/allowlist")
    assert "connected" in unknown
    assert "connected" in malformed


async def test_commands_are_imported_with_the_first_use_of_their_group_and_say_when_they_cannot_be(
    home: CommandHome, caplog: pytest.LogCaptureFixture
) -> None:
    fails = [ModuleNotFoundError("No module named 'gears'")]
    imports: list[int] = []
    commands = Commands(lambda: "en")

    def fill(found: Commands) -> None:
        imports.append(1)
        if fails:
            raise fails.pop()
        found.add(*(replace(home.command(name), run=answer) for name in ("approve", "deny")))

    async def answer(call: CommandCall) -> str:
        return "approved"

    commands.add_group("approvals", fill)
    call = CommandCall("approve", "", MESSAGE, "main", "agent:main:main", Context(OWNER), by_owner=True)
    refused = await commands.run(replace(call, context=Context(STRANGER)))
    before = list(imports)
    failed = await commands.run(call)
    answers = [await commands.run(call), await commands.run(call)]

    assert "approve" in refused.text
    assert before == []
    assert "cannot be loaded" in failed.text
    assert "No module named 'gears'" in caplog.text
    assert [each.text for each in answers] == ["approved", "approved"]
    assert len(imports) == 2
