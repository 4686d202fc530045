"""`sessions.*`: the conversations there are, what may be changed of them, and who hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.agent.lift_taint import lift_taint
from hub.agent.runner import AgentRunner
from hub.agent.taint import LiftScope
from hub.core.errors import InvalidRequest, NotFound
from hub.core.ids import new_id
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer
from hub.gateway.calls.contract import ADMIN, READ, WRITE, Method, MethodCall
from hub.gateway.connection.server import Gateway
from hub.gateway.methods.session_shapes import SEND_POLICIES, SHOWN_SETTINGS, preview, shown_messages, shown_session
from hub.gateway.push.events import SESSIONS_TOPIC, session_topic
from hub.messaging.channels import ChannelRegistry
from hub.models.registry import ModelRegistry
from hub.models.thinking import LEVELS
from hub.sessions.export import FORMATS
from hub.sessions.fork import copies_as_tree, fork_session
from hub.sessions.keys import SessionKey, direct_key, incognito_key
from hub.sessions.session import TEXT_LIMIT, Session
from hub.sessions.store import SessionStore
from hub.sessions.tail import last_messages

OWNER = "gateway"
MESSAGES_LIMIT = 1_000
SESSIONS_LIMIT = 2_000
PREVIEW_KEYS_LIMIT = 64
TOPICS_LIMIT = 64

_KEY = All(str, Length(min=1, max=2048))
_KEY_ONLY = Schema({Required("key"): _KEY})


class SessionMethods:
    """The methods about sessions.

    Args:
        gateway: Whose connections subscribe.
        sessions: The store.
        agents: Who there is.
        models: Knows whether a model can be chosen.
        runner: Stops runs.
        channels: Knows the channel of new conversations.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        sessions: SessionStore,
        agents: Agents,
        models: ModelRegistry,
        runner: AgentRunner,
        channels: ChannelRegistry,
    ) -> None:
        self._gateway = gateway
        self._channels = channels
        self._sessions = sessions
        self._agents = agents
        self._models = models
        self._runner = runner

    def methods(self) -> list[Method]:
        """Return the methods."""
        list_ = Schema(
            {
                Optional("limit", default=SESSIONS_LIMIT): All(integer, Range(min=1, max=SESSIONS_LIMIT)),
                Optional("agentId"): All(str, Length(max=64)),
                Optional("activeMinutes"): All(integer, Range(min=1)),
                Optional("search"): All(str, Length(max=200)),
                Optional("archived", default=False): boolean,
                Optional("snoozed", default=False): boolean,
            }
        )
        get = Schema(
            {Required("key"): _KEY, Optional("limit", default=200): All(integer, Range(min=0, max=MESSAGES_LIMIT))}
        )
        transcript = Schema({Required("key"): _KEY, Optional("sessionId"): All(str, Length(min=1, max=64))})
        resolve = Schema({Optional("key"): _KEY, Optional("sessionId"): str, Optional("label"): str})
        create = Schema(
            {
                Optional("key"): _KEY,
                Optional("agentId"): str,
                Optional("label"): All(str, Length(min=1, max=200)),
                Optional("incognito", default=False, description="Nothing is kept once it ends."): boolean,
            }
        )
        export = Schema({Required("key"): _KEY, Optional("format", default="md"): In(list(FORMATS))})
        fork = Schema({Required("key"): _KEY, Optional("label"): All(str, Length(min=1, max=200))})
        patch = Schema(
            {
                Required("key"): _KEY,
                Optional("label"): AnyOf(None, All(str, Length(min=1, max=200))),
                Optional("model"): AnyOf(None, All(str, Length(min=1, max=200))),
                Optional("thinkingLevel"): AnyOf(None, In(LEVELS)),
                Optional("verboseLevel"): AnyOf(None, In(["off", "on", "full"])),
                Optional("reasoningLevel"): AnyOf(None, In(["off", "on", "stream"])),
                Optional("responseUsage"): AnyOf(None, In(["off", "tokens", "full"])),
                Optional("sendPolicy"): AnyOf(None, In(list(SEND_POLICIES.values()))),
                Optional("archived"): boolean,
                Optional("pinned"): boolean,
                Optional("unread"): boolean,
                Optional("snoozedUntil", description="Milliseconds since the epoch; null takes it back."): AnyOf(
                    None, All(integer, Range(min=0, max=2**53 - 1))
                ),
                Optional("groupActivation"): AnyOf(None, In(["mention", "always"])),
            }
        )
        abort = Schema({Required("key"): _KEY, Optional("runId"): All(str, Length(min=1, max=256))})
        reset = Schema({Required("key"): _KEY, Optional("reason"): In(["new", "reset"])})
        trust = Schema(
            {Required("key"): _KEY, Optional("scope", default="turn"): In([each.value for each in LiftScope])}
        )
        delete = Schema({Required("key"): _KEY, Optional("deleteTranscript"): All(boolean, In([True]))})
        preview_ = Schema(
            {
                Required("keys"): All([_KEY], Length(min=1, max=PREVIEW_KEYS_LIMIT)),
                Optional("limit", default=12): All(integer, Range(min=1, max=50)),
                Optional("maxChars", default=240): All(integer, Range(min=20, max=2000)),
            }
        )
        return [
            Method("sessions.list", self._list, OWNER, list_, READ),
            Method("sessions.tree", self._tree, OWNER, Schema({}), READ),
            Method("sessions.get", self._get, OWNER, get, READ),
            Method("sessions.resolve", self._resolve, OWNER, resolve, READ),
            Method("sessions.transcript", self._transcript, OWNER, transcript, READ),
            Method("sessions.preview", self._preview, OWNER, preview_, READ),
            Method("sessions.export", self._export, OWNER, export, READ),
            Method("sessions.fork", self._fork, OWNER, fork, WRITE, acts=True),
            Method("sessions.create", self._create, OWNER, create, WRITE, acts=True),
            Method("sessions.patch", self._patch, OWNER, patch, WRITE, acts=True),
            Method("sessions.reset", self._reset, OWNER, reset, WRITE, acts=True),
            Method("sessions.trust", self._trust, OWNER, trust, ADMIN, acts=True),
            Method("sessions.delete", self._delete, OWNER, delete, WRITE, acts=True),
            Method("sessions.abort", self._abort, OWNER, abort, WRITE, acts=True),
            Method("sessions.subscribe", self._subscribe, OWNER, Schema({}), READ),
            Method("sessions.unsubscribe", self._unsubscribe, OWNER, Schema({}), READ),
            Method("sessions.messages.subscribe", self._subscribe_messages, OWNER, _KEY_ONLY, READ),
            Method("sessions.messages.unsubscribe", self._unsubscribe_messages, OWNER, _KEY_ONLY, READ),
        ]

    def full_key(self, key: str) -> str:
        """Return the full form of a key; short forms mean the default agent.

        Raises:
            InvalidRequest: It is not a key.
        """
        return str(SessionKey.parse(key, default_agent=self._agents.default().id))

    def known(self, key: str) -> Session:
        """Return a session by any form of its key.

        Raises:
            NotFound: There is none.
        """
        full = self.full_key(key)
        session = self._sessions.get(full)
        if session is None:
            raise NotFound(f"there is no session {full}", details={"key": full})
        return session

    def stop(self, key: str, run_id: str | None) -> list[str]:
        """Stop the runs of a session, or one of them; return which."""
        if run_id is None:
            return list(self._runner.abort(session_key=key))
        if any(run.run_id == run_id and run.session_key == key for run in self._runner.active()):
            return list(self._runner.abort(run_id=run_id))
        return []

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        sessions = [
            each
            for each in self._sessions.list(params.get("agentId"))
            if each.archived is params["archived"]
            and (each.archived or self._sessions.is_snoozed(each) is params["snoozed"])
        ]
        now = int(self._gateway.clock.time() * 1000)
        if "activeMinutes" in params:
            since = now - params["activeMinutes"] * 60_000
            sessions = [each for each in sessions if each.updated_ms >= since]
        if wanted := params.get("search", "").casefold():
            sessions = [each for each in sessions if wanted in f"{each.key} {each.title or ''}".casefold()]
        shown = [shown_session(each) for each in sessions[: params["limit"]]]
        return {"ts": now, "count": len(shown), "total": len(sessions), "sessions": shown}

    async def _tree(self, call: MethodCall) -> Mapping[str, Any]:
        tree = copies_as_tree(self._sessions.list())
        return {"sessions": [shown_session(session) | {"depth": depth} for session, depth in tree]}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        session, limit = self.known(call.params["key"]), call.params["limit"]
        messages = shown_messages(await last_messages(self._sessions, session, limit), limit) if limit else []
        return {"key": session.key, "session": shown_session(session), "messages": messages}

    async def _resolve(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        if "key" in params:
            return {"ok": True, "key": self.known(params["key"]).key}
        for session in self._sessions.list():
            if params.get("sessionId") == session.session_id or (params.get("label") or None) == (session.title or ""):
                return {"ok": True, "key": session.key}
        if not params:
            raise InvalidRequest("sessions.resolve: give key, sessionId or label")
        raise NotFound("there is no such session")

    async def _transcript(self, call: MethodCall) -> Mapping[str, Any]:
        session = self.known(call.params["key"])
        shown = replace(session, session_id=call.params.get("sessionId", session.session_id))
        if shown == session:
            entries = tuple((await self._sessions.open_transcript(session)).entries())
        else:
            entries = await self._sessions.past_entries(session, shown.session_id)
        path = self._sessions.transcript_path(shown)
        return {"key": session.key, "file": str(path), "entries": [entry.as_dict() for entry in entries]}

    async def _export(self, call: MethodCall) -> Mapping[str, Any]:
        session, form = self.known(call.params["key"]), call.params["format"]
        transcript = await self._sessions.open_transcript(session)
        text = await asyncio.to_thread(FORMATS[form], session, transcript.branch())
        return {"key": session.key, "format": form, "text": text}

    async def _fork(self, call: MethodCall) -> Mapping[str, Any]:
        session = self.known(call.params["key"])
        title = call.params.get("label") or session.title or session.key
        fork = await fork_session(
            self._sessions, session, self._channels.home, title[:TEXT_LIMIT], self._runner.parts.kept_results
        )
        return {"ok": True, "key": fork.key, "sessionId": fork.session_id, "entry": shown_session(fork)}

    async def _preview(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        previews = []
        for key in params["keys"]:
            session = self._sessions.get(self.full_key(key))
            if session is None:
                previews.append({"key": key, "status": "missing", "items": []})
                continue
            transcript = await self._sessions.open_transcript(session)
            items = preview(transcript.branch(), params["limit"], params["maxChars"])
            previews.append({"key": session.key, "status": "ok" if items else "empty", "items": items})
        return {"ts": int(self._gateway.clock.time() * 1000), "previews": previews}

    async def _create(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        agent = self._agents.get(params.get("agentId") or self._agents.default().id)
        key = params.get("key")
        if params["incognito"] and key:
            raise InvalidRequest("incognito: leave out the key; an incognito session has one of its own")
        if params["incognito"]:
            full = incognito_key(agent.id, new_id(), self._channels.home)
        else:
            full = self.full_key(key) if key else direct_key(agent.id, new_id(), channel=self._channels.home)
        self._agents.get(SessionKey.parse(full).agent)
        session = await self._sessions.ensure(full, person=call.caller.authority.person)
        if "label" in params:
            session = await self._sessions.patch(full, title=params["label"])
        return {"ok": True, "key": full, "sessionId": session.session_id, "entry": shown_session(session)}

    async def _patch(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        key = self.known(params["key"]).key
        fields = {
            "label": "title",
            "model": "model",
            "archived": "archived",
            "pinned": "pinned",
            "unread": "unread",
            **SHOWN_SETTINGS,
        }
        changes: dict[str, Any] = {fields[name]: value for name, value in params.items() if name in fields}
        if "sendPolicy" in params:
            changes["send"] = {policy: send for send, policy in SEND_POLICIES.items()}.get(params["sendPolicy"])
        if "snoozedUntil" in params:
            changes["snoozed_ms"] = params["snoozedUntil"] or 0
        if changes.get("model"):
            await self._models.resolve(changes["model"])
        session = await self._sessions.patch(key, **changes) if changes else self.known(key)
        return {"ok": True, "key": key, "entry": shown_session(session)}

    async def _reset(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.known(call.params["key"]).key
        self._runner.abort(session_key=key)
        session = await self._sessions.reset(key)
        return {"ok": True, "key": key, "sessionId": session.session_id, "entry": shown_session(session)}

    async def _trust(self, call: MethodCall) -> Mapping[str, Any]:
        key, scope = self.full_key(call.params["key"]), LiftScope(call.params["scope"])
        session = await lift_taint(self._sessions, self._runner, key, scope, call.context)
        return {"ok": True, "key": key, "entry": shown_session(session)}

    async def _delete(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.known(call.params["key"]).key
        self._runner.abort(session_key=key)
        return {"ok": True, "key": key, "deleted": await self._sessions.delete(key)}

    async def _abort(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.full_key(call.params["key"])
        stopped = self.stop(key, call.params.get("runId"))
        return {"ok": True, "key": key, "aborted": bool(stopped), "runIds": stopped}

    async def _subscribe(self, call: MethodCall) -> Mapping[str, Any]:
        self._topics(call).add(SESSIONS_TOPIC)
        return {"subscribed": True}

    async def _unsubscribe(self, call: MethodCall) -> Mapping[str, Any]:
        self._topics(call).discard(SESSIONS_TOPIC)
        return {"subscribed": False}

    async def _subscribe_messages(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.full_key(call.params["key"])
        topics = self._topics(call)
        if len(topics) >= TOPICS_LIMIT:
            raise InvalidRequest(f"key: a connection follows at most {TOPICS_LIMIT} sessions")
        topics.add(session_topic(key))
        return {"subscribed": True, "key": key}

    async def _unsubscribe_messages(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.full_key(call.params["key"])
        self._topics(call).discard(session_topic(key))
        return {"subscribed": False, "key": key}

    def _topics(self, call: MethodCall) -> set[str]:
        connection = self._gateway.connections.get(call.connection_id or "")
        if connection is None:
            raise InvalidRequest(f"{call.method} is for WebSocket connections")
        return connection.topics
