"""A hub in which everybody has had something remembered in every way there is, each with a word of its own in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub.core.context import Authority, Context
from hub.core.events import Event
from hub.memory.scope import MemoryScope
from hub.sessions.privacy import scope_of
from tests.security_review.besieged import SESSION, WAIT_LIMIT_S, Besieged, besieged
from tests.security_review.test_laundering import tool_call
from tests.servers.openai_server import OpenAIServer

MEMORY = """\
memory:
  transcripts: true
  embeddings: {provider: none}
  recall: {direct: true, groups: true, min_score: 0, timeout: 10}
  extra_paths:
    - {path: notes_of_others, name: others}
    - {path: notes_for_all, name: house, trusted: true, area: shared}
"""

ROOM = "-100"
GROUP = "agent:main:platform:group:-100"
ANNAS_SESSION = "agent:main:platform:direct:2"
READING = "agent:main:webchat:direct:reading"
"""The owner's conversation in which words from outside were read."""
OUTSIDE_NOTE = "notes_of_others/letter.md"

OWNER, ANNA, OF_GROUP, TAINTED, SHARED, OUTSIDE = "owner", "anna", "group", "tainted", "shared", "outside"
WAYS = ("tool", "note", "intent", "file", "said")


def word(whose: str, way: str) -> str:
    """Return the word in what somebody had remembered in some way."""
    return f"canary{whose}{way}"


def line(whose: str, way: str) -> str:
    """Return what is remembered: found by `boiler`, without naming the word."""
    return f"For the boiler at home remember {word(whose, way)}"


OF_AREA: dict[str, frozenset[str]] = {
    whose: frozenset(word(whose, way) for way in WAYS) for whose in (OWNER, ANNA, OF_GROUP, TAINTED, SHARED, OUTSIDE)
}
ALL = frozenset().union(*OF_AREA.values())


@dataclass(frozen=True)
class Viewer:
    """Somebody in some conversation, and whose words they may meet there."""

    name: str
    session: str
    authority: Authority
    may: frozenset[str]

    def scope(self, house: Besieged) -> MemoryScope:
        return scope_of(self.session, self.authority, house.hub.people)


def of(*whose: str) -> frozenset[str]:
    return frozenset().union(*(OF_AREA[each] for each in whose))


def viewers(house: Besieged) -> list[Viewer]:
    people = house.hub.people
    owner, anna = people.owner_authority(), people.authority_for("platform:user:2")
    stranger = people.authority_for("platform:user:9")
    return [
        Viewer("owner", SESSION, owner, of(OWNER, TAINTED, SHARED, OUTSIDE)),
        Viewer("owner, tainted", SESSION, owner.narrow(tainted=True), of(OWNER, TAINTED, SHARED, OUTSIDE)),
        Viewer("anna", ANNAS_SESSION, anna, of(ANNA, SHARED)),
        Viewer("anna in the owner's conversation", SESSION, anna, of(ANNA, SHARED)),
        Viewer("owner in anna's conversation", ANNAS_SESSION, owner, frozenset()),
        Viewer("owner in a stranger's conversation", "agent:main:direct:platform%3Auser%3A9", owner, frozenset()),
        Viewer("owner on another platform", "agent:main:telegram:direct:9", owner, frozenset()),
        Viewer("owner in the group", GROUP, owner, of(OF_GROUP, SHARED)),
        Viewer("anna in the group", GROUP, anna, of(OF_GROUP, SHARED)),
        Viewer("a stranger in the group", GROUP, stranger, of(OF_GROUP)),
        Viewer("owner in another group", "agent:main:platform:group:-200", owner, of(SHARED)),
        Viewer("a stranger", "agent:main:platform:direct:9", stranger, frozenset()),
        Viewer("a stranger in the owner's conversation", SESSION, stranger, frozenset()),
        Viewer("a hook", "agent:main:hook:x", owner, frozenset()),
        Viewer("a token", SESSION, Authority("token:x", scopes=frozenset({"operator.write"})), frozenset()),
        Viewer("a device", "agent:main:node-x", Authority("device:x"), frozenset()),
        Viewer("nonsense", "agent:main:platform:group:-100:../x", owner, frozenset()),
    ]


def seen(shown: object) -> set[str]:
    """Return the words in something shown."""
    text = str(shown).casefold()
    return {each for each in ALL if each in text} if "canary" in text else set()


class Canaries:
    """The hub, and what happened in it."""

    def __init__(self, house: Besieged, server: OpenAIServer) -> None:
        self.house = house
        self.server = server
        self.events: list[Event] = []
        self.files: list[str] = []
        self.stop_approving: Callable[[], None]
        """Until it is called, the owner says yes to whatever is asked."""
        for kind in ("memory_recalled", "memory_changed", "memory_flushed"):
            house.hub.bus.listen(kind, self.events.append)
        for kind in ("standing_intent_fired", "standing_intents_changed"):
            house.hub.bus.listen(kind, self.events.append)

    async def furnish(self) -> None:
        """Have all of it remembered."""
        house = self.house

        async def approve(event: Event) -> None:
            await house.hub.approvals.resolve(event.data["id"], True, Context(house.hub.people.owner_authority()))

        self.stop_approving = house.hub.bus.listen("approval_requested", approve)
        self._write_files()
        await self._converse(OWNER, lambda text: house.run(text, SESSION))
        await self._converse(ANNA, self._from("platform:user:2"))
        await self._converse(OF_GROUP, self._from("platform:user:1", ROOM))
        self.server.queue([*tool_call("remember", text=line(SHARED, "tool"), shared=True)], "noted")
        await house.run("All of this home may know it", SESSION)
        await self._tainted()
        await self._indexed()
        root = house.workspace
        self.files = [str(each.relative_to(root)) for each in root.rglob("*.md") if each.is_file()]
        self.files += ["extra/others/letter.md", "extra/house/rules.md"]
        self.files += [f"transcripts/{each.session_id}" for each in house.hub.sessions.list("main")]
        self.files += [f"transcripts/{each.stem}" for each in house.hub.home.sessions("main").glob("*.jsonl")]

    def _write_files(self) -> None:
        home, root = self.house.hub.home.path, self.house.workspace
        for path, text in {
            root / "MEMORY.md": f"# Memory\n\n- {line(OWNER, 'file')}\n",
            root / "memory" / "2026-01-05.md": f"# Day\n\n- {line(OWNER, 'file')}\n",
            root / "memory" / "people" / "anna.md": f"# anna\n\n- {line(ANNA, 'file')}\n",
            root / "memory" / "people" / "anna" / "more.md": f"# more\n\n- {line(ANNA, 'file')}\n",
            root / "memory" / "groups" / f"{self.room}.md": f"# group\n\n- {line(OF_GROUP, 'file')}\n",
            root / "memory" / "shared" / "house.md": f"# house\n\n- {line(SHARED, 'file')}\n",
            root / "memory" / "imported" / "x.md": f"---\ntrusted: false\n---\n\n- {line(TAINTED, 'file')}\n",
            home / OUTSIDE_NOTE: f"# letter\n\n- {line(OUTSIDE, 'file')}\n",
            home / "notes_for_all" / "rules.md": f"# rules\n\n- {line(SHARED, 'note')}\n",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @property
    def room(self) -> str:
        scope = scope_of(GROUP, Authority("system"), self.house.hub.people)
        assert scope.group is not None
        return scope.group

    def _from(self, sender: str, group: str | None = None) -> Callable[[str], Any]:
        async def say(text: str) -> Any:
            receipt = await self.house.platform.say(sender, text, group=group)
            return await self.house.heard(receipt) if receipt.run_id is not None else None

        return say

    async def _converse(self, whose: str, say: Callable[[str], Any]) -> None:
        """Have it remembered by tool, as a reminder and as a note of a conversation, and said once more."""
        self.server.queue(tool_call("remember", text=line(whose, "tool")), "noted")
        await say("Keep this for the boiler please")
        self.server.queue(
            tool_call("standing_intent", action="add", topic="plumber", remind=line(whose, "intent")), "noted"
        )
        await say("Remind me when the plumber comes up")
        self.server.queue("I see")
        await say(f"About that boiler thing we had {line(whose, 'note')}")
        flushed = self._flushed()
        self.server.queue("{}", "{}")  # no notes of a model: the last words themselves are kept
        await say("/new")
        await self.until(lambda: self._flushed() > flushed)
        self.server.reset()
        self.server.queue("I see")
        await say(f"Once more on that boiler {line(whose, 'said')}")

    async def _tainted(self) -> None:
        """Have the owner read words from outside, and the assistant keep the result."""
        house = self.house
        self.server.queue(
            tool_call("memory_get", path="memory/imported/x.md"),
            tool_call("remember", text=line(TAINTED, "tool"), kind="preference"),
            tool_call("standing_intent", action="add", topic="gardener", remind=line(TAINTED, "intent")),
            f"It says: {line(TAINTED, 'said')}",
        )
        await house.run("What does that file say of the boiler?", READING)

    async def _indexed(self) -> None:
        memory = house_memory(self.house)
        await memory.sync(agent_id="main")

    def _flushed(self) -> int:
        return sum(event.type == "memory_flushed" for event in self.events)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_LIMIT_S):
            while True:
                if holds():
                    return
                await asyncio.sleep(0.02)

    def prompts(self) -> Sequence[dict[str, Any]]:
        """Return what the model was sent."""
        return [each["body"] for each in self.server.requests()]


def house_memory(house: Besieged) -> Any:
    return house.hub.memory.require()


@asynccontextmanager
async def canaries(path: Path, server: OpenAIServer) -> AsyncIterator[Canaries]:
    """Start a hub in which all of it is remembered."""
    async with besieged(path, server, more=MEMORY) as house:
        standing = Canaries(house, server)
        await standing.furnish()
        yield standing
