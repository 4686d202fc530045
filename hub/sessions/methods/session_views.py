"""`sessions.list|get|describe|resolve|…`: the sessions, and their contents."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer
from hub.core.surfaces import READ, Method, MethodCall
from hub.sessions.export import FORMATS
from hub.sessions.fork import copies_as_tree
from hub.sessions.methods.session_rows import SessionRows
from hub.sessions.methods.session_shapes import message_payloads, preview
from hub.sessions.methods.sessions import KEY, SessionMethods
from hub.sessions.session import Session
from hub.sessions.store import SessionStore

OWNER = "gateway"
MESSAGES_LIMIT = 1_000
SESSIONS_LIMIT = 10_000
PREVIEW_KEYS_LIMIT = 64
ALL = "all"

_AGENT = All(str, Length(max=64))
_TIMES = ("updatedAt", "lastInteractionAt")
# What clients of the protocol ask for and is so here in any case: there are no sessions that belong to no agent.
_IGNORED = {
    Optional(name): object
    for name in ("includeGlobal", "includeUnknown", "configuredAgentsOnly", "includeDerivedTitles", "ownerFirst")
}


class SessionViews:
    """The methods that show sessions.

    Args:
        keys: Finds sessions by any form of their key.
        sessions: The store.
        rows: Makes rows of them.
    """

    def __init__(self, keys: SessionMethods, sessions: SessionStore, rows: SessionRows, clock: Clock) -> None:
        self._keys = keys
        self._sessions = sessions
        self._rows = rows
        self._clock = clock

    def methods(self) -> list[Method]:
        """Return the methods."""
        list_ = Schema(
            {
                Optional("limit", default=SESSIONS_LIMIT): All(integer, Range(min=1, max=SESSIONS_LIMIT)),
                Optional("offset", default=0): All(integer, Range(min=0)),
                Optional("agentId"): _AGENT,
                Optional("activeMinutes"): All(integer, Range(min=1)),
                Optional("search"): All(str, Length(max=200)),
                Optional("label"): All(str, Length(max=500)),
                Optional("spawnedBy"): KEY,
                Optional("requireLastInteraction", default=False): boolean,
                Optional("sortBy", default=_TIMES[0]): In(_TIMES),
                Optional("archived", default=False): AnyOf(In([ALL]), boolean),
                Optional("snoozed", default=False): boolean,
                **_IGNORED,
            }
        )
        get = Schema(
            {Required("key"): KEY, Optional("limit", default=200): All(integer, Range(min=0, max=MESSAGES_LIMIT))}
        )
        transcript = Schema({Required("key"): KEY, Optional("sessionId"): All(str, Length(min=1, max=64))})
        resolve = Schema(
            {
                Optional("key"): KEY,
                Optional("sessionId"): str,
                Optional("label"): str,
                Optional("agentId"): _AGENT,
                Optional("allowMissing", default=False): boolean,
                **_IGNORED,
            }
        )
        export = Schema({Required("key"): KEY, Optional("format", default="md"): In(list(FORMATS))})
        describe = Schema({Required("key"): KEY, Optional("agentId"): _AGENT, **_IGNORED})
        preview_ = Schema(
            {
                Required("keys"): All([KEY], Length(min=1, max=PREVIEW_KEYS_LIMIT)),
                Optional("limit", default=12): All(integer, Range(min=1, max=50)),
                Optional("maxChars", default=240): All(integer, Range(min=20, max=2000)),
            }
        )
        return [
            Method("sessions.list", self._list, OWNER, list_, READ),
            Method("sessions.tree", self._tree, OWNER, Schema({}), READ),
            Method("sessions.get", self._get, OWNER, get, READ),
            Method("sessions.describe", self._describe, OWNER, describe, READ),
            Method("sessions.resolve", self._resolve, OWNER, resolve, READ),
            Method("sessions.transcript", self._transcript, OWNER, transcript, READ),
            Method("sessions.preview", self._preview, OWNER, preview_, READ),
            Method("sessions.export", self._export, OWNER, export, READ),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        now = int(self._clock.time() * 1000)
        found = [each for each in self._sessions.list(params.get("agentId")) if self._is_asked_for(each, params, now)]
        if "spawnedBy" in params:
            above = self._rows.subagent_parents()
            found = [each for each in found if above.get(each.key) == self._keys.full_key(params["spawnedBy"])]
        if params["sortBy"] != _TIMES[0]:
            found.sort(key=lambda each: -each.heard_ms)
        begin, end = params["offset"], params["offset"] + params["limit"]
        more = end < len(found)
        shown = self._rows.all(found[begin:end])
        return {
            "ts": now,
            "count": len(shown),
            "total": len(found),
            "totalCount": len(found),
            "limitApplied": params["limit"],
            "hasMore": more,
            "nextOffset": end if more else None,
            "defaults": self._rows.defaults(),
            "sessions": shown,
        }

    def _is_asked_for(self, session: Session, params: Mapping[str, Any], now_ms: int) -> bool:
        if params["archived"] != ALL and session.archived is not params["archived"]:
            return False
        if not session.archived and self._sessions.is_snoozed(session) is not params["snoozed"]:
            return False
        if "activeMinutes" in params and session.updated_ms < now_ms - params["activeMinutes"] * 60_000:
            return False
        if params["requireLastInteraction"] and not session.heard_ms:
            return False
        if "label" in params and session.title != params["label"]:
            return False
        return params.get("search", "").casefold() in f"{session.key} {session.name or ''}".casefold()

    async def _tree(self, call: MethodCall) -> Mapping[str, Any]:
        tree = copies_as_tree(self._sessions.list())
        rows = self._rows.all(session for session, _ in tree)
        return {"sessions": [row | {"depth": depth} for row, (_, depth) in zip(rows, tree, strict=True)]}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        session, limit = self._keys.require_session(call.params["key"]), call.params["limit"]
        messages = message_payloads(await self._sessions.last_messages(session, limit), limit) if limit else []
        return {"key": session.key, "session": self._rows.of(session), "messages": messages}

    async def _describe(self, call: MethodCall) -> Mapping[str, Any]:
        session = self._sessions.get(self._keys.full_key(call.params["key"], call.params.get("agentId")))
        return {"session": self._rows.of(session) if session is not None else None}

    async def _resolve(self, call: MethodCall) -> Mapping[str, Any]:
        found = self._found(call.params)
        if found is not None:
            named = {"displayName": found.name} if found.name is not None else {}
            return {"ok": True, "key": found.key, "agentId": found.agent_id, **named}
        if call.params["allowMissing"]:
            return {"ok": False}
        raise NotFound(
            "there is no such session", details={name: call.params[name] for name in ("key",) if name in call.params}
        )

    def _found(self, params: Mapping[str, Any]) -> Session | None:
        agent_id = params.get("agentId")
        if "key" in params:
            return self._sessions.get(self._keys.full_key(params["key"], agent_id))
        id, label = params.get("sessionId"), params.get("label")
        if not id and not label:
            raise InvalidRequest("sessions.resolve: give key, sessionId or label")
        for session in self._sessions.list(agent_id):
            if session.session_id == id or (label and session.title == label):
                return session
        return None

    async def _transcript(self, call: MethodCall) -> Mapping[str, Any]:
        session = self._keys.require_session(call.params["key"])
        shown = replace(session, session_id=call.params.get("sessionId", session.session_id))
        if shown == session:
            entries = tuple((await self._sessions.open_transcript(session)).entries())
        else:
            entries = await self._sessions.past_entries(session, shown.session_id)
        place = self._sessions.transcripts.place(session.agent_id, shown.session_id)
        return {"key": session.key, "file": place, "entries": [entry.as_dict() for entry in entries]}

    async def _export(self, call: MethodCall) -> Mapping[str, Any]:
        session, form = self._keys.require_session(call.params["key"]), call.params["format"]
        transcript = await self._sessions.open_transcript(session)
        text = await asyncio.to_thread(FORMATS[form], session, transcript.branch())
        return {"key": session.key, "format": form, "text": text}

    async def _preview(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        previews = []
        for key in params["keys"]:
            session = self._sessions.get(self._keys.full_key(key))
            if session is None:
                previews.append({"key": key, "status": "missing", "items": []})
                continue
            transcript = await self._sessions.open_transcript(session)
            items = preview(transcript.branch(), params["limit"], params["maxChars"])
            previews.append({"key": session.key, "status": "ok" if items else "empty", "items": items})
        return {"ts": int(self._clock.time() * 1000), "previews": previews}
