"""`chat.history|startup|metadata`: the contents of a conversation, and the data for composing a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.schema import All, Length, Optional, Range, Required, Schema, integer
from hub.core.surfaces import READ, Method, MethodCall
from hub.gateway.calls.method_table import MethodTable
from hub.sessions.keys import SessionKey
from hub.sessions.methods.session_rows import SessionRows
from hub.sessions.methods.session_shapes import message_payloads
from hub.sessions.methods.session_views import MESSAGES_LIMIT
from hub.sessions.methods.sessions import KEY, SessionMethods
from hub.sessions.store import SessionStore

OWNER = "gateway"

_AGENT = {Optional("agentId"): All(str, Length(max=64))}
_NONE_PENDING = {"items": [], "total": 0}
_OF_METADATA = ("models.list", "commands.list")
"""Methods whose answers are the metadata of a conversation."""


class ChatViews:
    """The methods that show a conversation.

    Args:
        keys: Finds sessions by any form of their key.
        sessions: The store.
        rows: Makes rows of sessions.
        table: Has the methods whose answers a page needs with its conversation.
    """

    def __init__(self, keys: SessionMethods, sessions: SessionStore, rows: SessionRows, table: MethodTable) -> None:
        self._keys = keys
        self._sessions = sessions
        self._rows = rows
        self._table = table

    def methods(self) -> list[Method]:
        """Return the methods."""
        history = Schema(
            {
                Required("sessionKey"): KEY,
                **_AGENT,
                Optional("sessionId"): All(str, Length(min=1, max=64)),
                Optional("limit", default=200): All(integer, Range(min=1, max=MESSAGES_LIMIT)),
                Optional("offset", default=0): All(integer, Range(min=0, max=MESSAGES_LIMIT)),
            }
        )
        metadata = Schema({Optional("sessionKey"): KEY, **_AGENT})
        return [
            Method("chat.history", self._history, OWNER, history, READ),
            Method("chat.startup", self._startup, OWNER, history, READ),
            Method("chat.metadata", self._metadata, OWNER, metadata, READ),
        ]

    async def _history(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        key, limit, offset = (
            self._keys.full_key(params["sessionKey"], params.get("agentId")),
            params["limit"],
            params["offset"],
        )
        session = self._sessions.get(key)
        if session is None:
            defaults = self._rows.defaults(SessionKey.parse(key).agent)
            empty: dict[str, Any] = {"sessionId": None, "messages": [], "thinkingLevel": None, "hasMore": False}
            return {"sessionKey": key, **empty, "pendingInputs": _NONE_PENDING, "defaults": defaults}
        if params.get("sessionId", session.session_id) == session.session_id:
            entries = await self._sessions.last_messages(session, limit + offset + 1)
        else:
            past = await self._sessions.past_entries(session, params["sessionId"])
            entries = [entry for entry in past if entry.message is not None][-limit - offset - 1 :]
        newer = entries[: len(entries) - offset]
        shown = message_payloads(newer, limit)
        return {
            "sessionKey": key,
            "sessionId": params.get("sessionId", session.session_id),
            "messages": shown,
            "thinkingLevel": session.thinking,
            "hasMore": len(newer) > len(shown),
            "pendingInputs": _NONE_PENDING,
            "defaults": self._rows.defaults(session.agent_id),
            "sessionInfo": self._rows.of(session),
        }

    async def _startup(self, call: MethodCall) -> Mapping[str, Any]:
        return {**await self._history(call), "metadata": await self._metadata(call)}

    async def _metadata(self, call: MethodCall) -> Mapping[str, Any]:
        agent_id = call.params.get("agentId")
        if agent_id is None and "sessionKey" in call.params:
            agent_id = SessionKey.parse(self._keys.full_key(call.params["sessionKey"])).agent
        found: dict[str, Any] = {}
        for method in [await self._table.load(name) for name in _OF_METADATA]:
            if method is None:
                continue
            params = method.schema({"agentId": agent_id} if agent_id is not None else {})
            found |= await method.handler(replace(call, method=method.name, params=params))
        return found
