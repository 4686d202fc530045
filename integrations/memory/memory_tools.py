"""The tools of memory: remember, memory_search, memory_get, forget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from hub.core.schema import All, In, Length, Optional, Range, Required, boolean, integer, string
from hub.memory.contract import (
    ENTRY_LIMIT,
    HITS_LIMIT,
    LINES_LIMIT,
    QUERY_LIMIT,
    Filters,
    Forget,
    Hit,
    Memory,
    MemoryEntry,
    MemoryKind,
    SearchAnswer,
)
from hub.memory.front_matter import holds_outside_words
from hub.memory.places import SHARED_AREA, area_of
from hub.memory.scope import MemoryProvenance, MemoryScope
from hub.security.people import People
from hub.sessions.privacy import scope_of
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.memory.said_now import SaidNow

GROUP = "memory"
DO_NOT_CITE = "name no paths and lines in your answer"
NOT_FOUND = "nothing found; try other words, and no kind or person"
AT_ITS_END = "(nothing here: the file ends before these lines)"
STRUCK_SHOWN = 200
FORGOTTEN_SHOWN = 20


class MemoryTools:
    """Tools over a memory, each within the scope of the session that calls.

    Args:
        memory: The memory.
        people: Gives the people of this home.
        now: Seconds since the epoch.
        said_now: Knows the words of the current turn, which even a tainted conversation remembers without asking.
        citations: Returns whether answers name what they are from: `on`, `off`, or `auto`, which is everywhere but in
            groups.
    """

    def __init__(
        self,
        memory: Memory,
        people: Callable[[], People | None],
        now: Callable[[], float],
        said_now: SaidNow | None = None,
        citations: Callable[[], str] = lambda: "auto",
    ) -> None:
        self._said_now = said_now
        self._citations = citations
        self._memory = memory
        self._people = people
        self._now = now

    def all(self) -> list[Tool]:
        """Return the tools."""
        kind = In([kind.value for kind in MemoryKind])
        return [
            Tool(
                "remember",
                "Keep something for later conversations: a fact, a preference, a decision, something about a person, "
                "or something to do. Use it when you are asked to, or when it will clearly matter later. Write one "
                "sentence that can be understood on its own, with names and full dates; an item of a list as a "
                "todo of its own: Shopping list: milk.",
                from_schema(
                    {
                        Required("text", description="What to remember."): All(string, Length(min=1, max=ENTRY_LIMIT)),
                        Optional("kind", default=MemoryKind.FACT.value): kind,
                        Optional("replaces", description="Words of the entry that is no longer true."): All(
                            string, Length(min=1, max=QUERY_LIMIT)
                        ),
                        Optional("shared", default=False, description="For all people of this home."): boolean,
                    }
                ),
                self._remember,
                GROUP,
                Annotations(destructive=False, idempotent=True, open_world=False, owner_only=False, egress=False),
                unasked=self._is_said_now,
            ),
            Tool(
                "memory_search",
                "Search what was remembered. Use it before you answer questions on earlier conversations, people, "
                "preferences, dates or plans; cite the `source` of what you use, where one is given.",
                from_schema(
                    {
                        Required("query", description="What to look for."): All(string, Length(max=QUERY_LIMIT)),
                        Optional("limit"): All(integer, Range(min=1, max=HITS_LIMIT)),
                        Optional("kind"): kind,
                        Optional("person", description="Who said it (id)."): All(string, Length(min=1, max=64)),
                    }
                ),
                self._search,
                GROUP,
                READS_HOME,
            ),
            Tool(
                "memory_get",
                "Read lines of a memory file that memory_search named.",
                from_schema(
                    {
                        Required("path", description="For example memory/2026-05-12.md."): All(string, Length(min=1)),
                        Optional("start", default=1): All(integer, Range(min=1)),
                        Optional("lines", default=200): All(integer, Range(min=1, max=LINES_LIMIT)),
                    }
                ),
                self._get,
                GROUP,
                READS_HOME,
            ),
            Tool(
                "forget",
                "Remove remembered entries, only when you are asked to: those that have all words of a query (an exact "
                "sentence removes that entry alone), or all that came from a session. What was said in conversations "
                "that memory searches goes with them, in the same way; narrow a query that names too much by session.",
                from_schema(
                    {
                        Optional("query"): All(string, Length(min=1, max=QUERY_LIMIT)),
                        Optional("session", description="Its key, or `this`."): All(string, Length(min=1, max=512)),
                    }
                ),
                self._forget,
                GROUP,
                Annotations(open_world=False, owner_only=False, egress=False),
            ),
        ]

    async def _remember(self, call: ToolCall) -> ToolResult:
        authority, arguments = call.context.authority, call.arguments
        trusted = not authority.tainted or await self._is_said_now(call)
        provenance = MemoryProvenance(call.session_key, authority.person, self._now(), trusted=trusted)
        entry = MemoryEntry(
            arguments["text"],
            MemoryKind(arguments["kind"]),
            provenance,
            replaces=arguments.get("replaces"),
            shared=arguments["shared"] or (trusted and await self._is_on_a_shared_list(call)),
        )
        added = await self._memory.add(entry, agent_id=call.agent_id, scope=self._scope(call))
        struck = [_shown(hit) for hit in added.struck]
        said = [f"{'known already' if added.known else 'remembered'} in {_where(added.hit)}"]
        said += [f"struck in {_where(hit)}: {hit.text[:STRUCK_SHOWN]}" for hit in added.struck]
        if entry.replaces is not None and not struck:
            said.append("nothing was struck: no entry has all words of `replaces`")
        details = {**_shown(added.hit), "known": added.known, "struck": struck}
        return ToolResult("\n".join(said), details=details, trusted=all(hit.trusted for hit in added.struck))

    async def _is_on_a_shared_list(self, call: ToolCall) -> bool:
        """Whether an item belongs to a list that the home shares, and that is on none of one's own."""
        from hub.memory.lists import item_of, item_text

        scope, item, people = self._scope(call), item_of(call.arguments["text"]), self._people()
        is_for_others = people is not None and len(people.all()) > 1 and scope.shared and scope.group is None
        if call.arguments["kind"] != MemoryKind.TODO or item is None or not is_for_others:
            return False
        answer = await self._memory.search(
            item_text(item[0], "").strip(" :："),
            agent_id=call.agent_id,
            scope=scope,
            limit=HITS_LIMIT,
            filters=Filters(kind=MemoryKind.TODO),
        )
        same = [hit for hit in answer.hits if (other := item_of(hit.text)) is not None and other[0] == item[0]]
        return bool(same) and all(area_of(hit.path) == SHARED_AREA for hit in same)

    async def _is_said_now(self, call: ToolCall) -> bool:
        return self._said_now is not None and await self._said_now.covers(call)

    async def _search(self, call: ToolCall) -> ToolResult:
        arguments, scope = call.arguments, self._scope(call)
        kind = MemoryKind(arguments["kind"]) if "kind" in arguments else None
        answer = await self._memory.search(
            arguments["query"],
            agent_id=call.agent_id,
            scope=scope,
            limit=arguments.get("limit"),
            filters=Filters(person=arguments.get("person"), kind=kind),
        )
        citations = self._citations()
        is_cited = citations == "on" or (citations == "auto" and scope.group is None)
        found: dict[str, Any] = {
            "hits": [{**_shown(hit), **({"source": _source(hit)} if is_cited else {})} for hit in answer.hits]
        }
        notes = [NOT_FOUND] if not answer.hits else [] if is_cited else [DO_NOT_CITE]
        if notes := [*notes, *([answer.degraded] if answer.degraded else [])]:
            found["note"] = "; ".join(notes)
        details = {**found, "engines": list(answer.engines), "took_ms": answer.took_ms, "scores": _scores(answer)}
        return ToolResult(
            orjson.dumps(found).decode(), details=details, trusted=all(hit.trusted for hit in answer.hits)
        )

    async def _get(self, call: ToolCall) -> ToolResult:
        arguments, scope = call.arguments, self._scope(call)
        text = await self._memory.get(
            arguments["path"], agent_id=call.agent_id, scope=scope, start=arguments["start"], lines=arguments["lines"]
        )
        return ToolResult(
            text or AT_ITS_END, details={"path": arguments["path"]}, trusted=not holds_outside_words(text)
        )

    async def _forget(self, call: ToolCall) -> ToolResult:
        query, session = call.arguments.get("query"), call.arguments.get("session")
        what = Forget(query, call.session_key if session == "this" else session)
        hits = await self._memory.forget(what, agent_id=call.agent_id, scope=self._scope(call))
        shown = [_shown(hit) for hit in hits[:FORGOTTEN_SHOWN]]
        found = {"forgotten": shown, "count": len(hits)}
        return ToolResult.of(found, trusted=all(hit.trusted for hit in hits))

    def _scope(self, call: ToolCall) -> MemoryScope:
        return scope_of(call.session_key, call.context.authority, self._people())


def _where(hit: Hit) -> str:
    return f"{hit.path}, line {hit.start_line}"


def _source(hit: Hit) -> str:
    return f"{hit.path}#{hit.start_line}" + (f"-{hit.end_line}" if hit.end_line != hit.start_line else "")


def _shown(hit: Hit) -> dict[str, Any]:
    shown: dict[str, Any] = {"text": hit.text, "path": hit.path, "lines": [hit.start_line, hit.end_line]}
    shown["score"] = round(hit.score, 3)
    shown |= {name: said for name, said in (("before", hit.before), ("after", hit.after)) if said}
    if hit.day:
        shown["date"] = hit.day
    if hit.kind:
        shown["kind"] = hit.kind
    if hit.person:
        shown["person"] = hit.person
    if not hit.trusted:
        shown["trusted"] = False
    return shown


def _scores(answer: SearchAnswer) -> list[dict[str, Any]]:
    """Return the scores of each hit, for people."""
    return [
        {"score": hit.score, "vector": hit.vector_score, "text": hit.text_score, "why": dict(hit.why or {})}
        for hit in answer.hits
    ]
