"""The tools of memory: remember, memory_search, memory_get, forget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from hub.core.schema import All, In, Length, Optional, Range, Required, integer, string
from hub.memory.contract import UNTRUSTED_MARK, Entry, Forget, Hit, Kind, Memory, Provenance, Scope
from hub.security.people import People
from hub.sessions.privacy import scope_of
from hub.tools.contract import READS_HOME, Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.memory.notes.memory import HITS_LIMIT, LINES_LIMIT, QUERY_LIMIT, TEXT_LIMIT
from integrations.memory.notes.places import day_of

GROUP = "memory"


class MemoryTools:
    """Tools over a memory, each within the scope of the session that calls.

    Args:
        memory: The memory.
        people: Gives the people of this home.
        now: Seconds since the epoch.
    """

    def __init__(self, memory: Memory, people: Callable[[], People | None], now: Callable[[], float]) -> None:
        self._memory = memory
        self._people = people
        self._now = now

    def all(self) -> list[Tool]:
        """Return the tools."""
        return [
            Tool(
                "remember",
                "Keep something for later conversations: a fact, a preference, a decision, something about a person, "
                "or something to do. Use it when you are asked to, or when it will clearly matter later. Write one "
                "sentence that can be understood on its own, with names and full dates.",
                from_schema(
                    {
                        Required("text", description="What to remember."): All(string, Length(min=1, max=TEXT_LIMIT)),
                        Optional("kind", default=Kind.FACT.value): In([kind.value for kind in Kind]),
                    }
                ),
                self._remember,
                GROUP,
                Annotations(destructive=False, idempotent=True, open_world=False, owner_only=False),
            ),
            Tool(
                "memory_search",
                "Search what was remembered, by words and dates. Use it before you answer questions on earlier "
                "conversations, people, preferences, dates or plans.",
                from_schema(
                    {
                        Required("query", description="What to look for."): All(string, Length(max=QUERY_LIMIT)),
                        Optional("limit", default=6): All(integer, Range(min=1, max=HITS_LIMIT)),
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
                "Remove remembered entries that have all of these words; an exact sentence removes that one alone. "
                "Use it only when you are asked to forget something.",
                from_schema({Required("query"): All(string, Length(min=1, max=QUERY_LIMIT))}),
                self._forget,
                GROUP,
                Annotations(open_world=False, owner_only=False),
            ),
        ]

    async def _remember(self, call: ToolCall) -> ToolResult:
        authority = call.context.authority
        provenance = Provenance(call.session_key, authority.person, self._now(), trusted=not authority.tainted)
        entry = Entry(call.arguments["text"], Kind(call.arguments["kind"]), provenance)
        hit = (await self._memory.add(entry, agent_id=call.agent_id, scope=self._scope(call))).hit
        return ToolResult(f"remembered in {hit.path}, line {hit.start_line}", details=_shown(hit))

    async def _search(self, call: ToolCall) -> ToolResult:
        answer = await self._memory.search(
            call.arguments["query"],
            agent_id=call.agent_id,
            scope=self._scope(call),
            limit=call.arguments["limit"],
        )
        hits = answer.hits
        shown = [_shown(hit) for hit in hits]
        return ToolResult(_json({"hits": shown}), details={"hits": shown}, trusted=all(hit.trusted for hit in hits))

    async def _get(self, call: ToolCall) -> ToolResult:
        arguments, scope = call.arguments, self._scope(call)
        text = await self._memory.get(
            arguments["path"], agent_id=call.agent_id, scope=scope, start=arguments["start"], lines=arguments["lines"]
        )
        # A part of a file may hold words from outside without the line that says so.
        return ToolResult(text, details={"path": arguments["path"]}, trusted=UNTRUSTED_MARK not in text)

    async def _forget(self, call: ToolCall) -> ToolResult:
        hits = await self._memory.forget(
            Forget(call.arguments["query"]), agent_id=call.agent_id, scope=self._scope(call)
        )
        shown = [_shown(hit) for hit in hits]
        return ToolResult(_json({"forgotten": shown}), details={"forgotten": shown})

    def _scope(self, call: ToolCall) -> Scope:
        return scope_of(call.session_key, call.context.authority, self._people())


def _shown(hit: Hit) -> dict[str, Any]:
    shown: dict[str, Any] = {"text": hit.text, "path": hit.path, "lines": [hit.start_line, hit.end_line]}
    shown["score"] = hit.score
    if day := day_of(hit.path):
        shown["date"] = day.isoformat()
    if not hit.trusted:
        shown["trusted"] = False
    return shown


def _json(data: dict[str, Any]) -> str:
    return orjson.dumps(data).decode()
