"""`sessions.*`: changing sessions and subscribing to them; `session_views` shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.agent.compaction.asked import CompactionCall
from hub.agent.compaction.compact import NoSummary
from hub.agent.runner import AgentRunner
from hub.agent.taint.lift import lift_taint
from hub.agent.taint.taint import LiftScope
from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unavailable
from hub.core.ids import new_id
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    boolean,
    describe_error,
    integer,
    number,
)
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, WRITE, Method, MethodCall
from hub.gateway.calls.method_table import IDEMPOTENCY_KEY
from hub.gateway.connection.server import Gateway
from hub.gateway.push.events import SESSIONS_TOPIC, session_topic
from hub.messaging.channels import ChannelRegistry
from hub.models.choosing import choose_model
from hub.models.registry import ModelRegistry
from hub.models.thinking import WORDS
from hub.sessions.fork import fork_session
from hub.sessions.keys import SessionKey, SessionKind, incognito_key, named_key
from hub.sessions.methods.session_rows import SessionRows
from hub.sessions.methods.session_shapes import SEND_POLICIES, SHOWN_SETTINGS
from hub.sessions.session import TEXT_LIMIT, Session
from hub.sessions.store import SessionStore

OWNER = "gateway"
TOPICS_LIMIT = 64
COMPACTION_WAIT_S = 45.0
"""How long `sessions.compact` waits for the summary, which goes on after that."""

KEY = All(str, Length(min=1, max=2048))
_AGENT = All(str, Length(max=64))
_TITLE = AnyOf(None, All(str, Length(min=1, max=200)))
_MODEL = AnyOf(None, All(str, Length(min=1, max=200)))
_THINKING = AnyOf(None, In(list(WORDS)))
_ONE = {Required("key"): KEY, Optional("agentId", description="Whose, if the key is a short one."): _AGENT}
_FIELDS = {
    "label": "title",
    **{name: name for name in ("model", "archived", "pinned", "unread")},
    **SHOWN_SETTINGS,
}
_FOOTERS = {"on": "tokens"}
_UNCHANGED = {Optional("expectedSessionId"): str, Optional("expectedSessionUpdatedAt"): number}
"""What a client may expect of a session that it changes; what is not so is a conflict."""


class SessionMethods:
    """The methods about sessions.

    Args:
        gateway: Its connections subscribe.
        sessions: The store.
        agents: The agents.
        models: Knows whether a model can be chosen.
        runner: Stops runs.
        channels: Knows the channel of new conversations.
        rows: Makes rows of sessions.
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
        rows: SessionRows,
    ) -> None:
        self._gateway = gateway
        self._rows = rows
        self._channels = channels
        self._sessions = sessions
        self._agents = agents
        self._models = models
        self._runner = runner

    def methods(self) -> list[Method]:
        """Return the methods."""
        create = Schema(
            {
                Optional("key"): KEY,
                Optional("agentId"): str,
                Optional("label"): _TITLE,
                Optional("displayName"): _TITLE,
                Optional("model"): _MODEL,
                Optional("thinkingLevel"): _THINKING,
                Optional("message", description="Sent at once, as `chat.send` does."): str,
                Optional("attachments"): [object],
                Optional("incognito", default=False, description="Nothing is kept once it ends."): boolean,
            }
        )
        fork = Schema(
            {
                Required("key"): KEY,
                Optional("label"): All(str, Length(min=1, max=200)),
                Optional("runId", description="The last run that is copied."): All(str, Length(min=1, max=256)),
            }
        )
        patch = Schema(
            {
                **_ONE,
                **_UNCHANGED,
                Optional("label"): _TITLE,
                Optional("model"): _MODEL,
                Optional("thinkingLevel"): _THINKING,
                Optional("verboseLevel"): AnyOf(None, In(["off", "on", "full"])),
                Optional("reasoningLevel"): AnyOf(None, In(["off", "on", "stream"])),
                Optional("responseUsage"): AnyOf(None, In([*_FOOTERS, "off", "tokens", "full"])),
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
        compact = Schema({**_ONE, Optional("instructions", default=""): All(str, Length(max=8_000))})
        abort = Schema({**_ONE, Optional("runId"): All(str, Length(min=1, max=256))})
        reset = Schema({**_ONE, Optional("reason"): In(["new", "reset"])})
        trust = Schema(
            {Required("key"): KEY, Optional("scope", default="turn"): In([each.value for each in LiftScope])}
        )
        delete = Schema(
            {
                **_ONE,
                **_UNCHANGED,
                Optional("archivedOnly", default=False): boolean,
                Optional("deleteTranscript"): All(boolean, In([True])),
            }
        )
        visibility = Schema({Required("visible", description="Whether a person looks at the client."): boolean})
        return [
            Method("sessions.fork", self._fork, OWNER, fork, WRITE, acts=True),
            Method("sessions.create", self._create, OWNER, create, WRITE, acts=True, frame_limit=LARGE_FRAME_BYTES),
            Method("sessions.patch", self._patch, OWNER, patch, WRITE, acts=True),
            Method("sessions.reset", self._reset, OWNER, reset, WRITE, acts=True),
            Method("sessions.trust", self._trust, OWNER, trust, ADMIN, acts=True),
            Method("sessions.delete", self._delete, OWNER, delete, WRITE, acts=True),
            Method("sessions.compact", self._compact, OWNER, compact, WRITE, acts=True),
            Method("sessions.abort", self._abort, OWNER, abort, WRITE, acts=True),
            Method("sessions.subscribe", self._subscribe, OWNER, Schema({}), READ),
            Method("sessions.unsubscribe", self._unsubscribe, OWNER, Schema({}), READ),
            Method("sessions.messages.subscribe", self._subscribe_messages, OWNER, Schema(_ONE), READ),
            Method("sessions.messages.unsubscribe", self._unsubscribe_messages, OWNER, Schema(_ONE), READ),
            Method("sessions.observer.visibility", self._visible, OWNER, visibility, READ),
        ]

    def full_key(self, key: str, agent_id: str | None = None) -> str:
        """Return the full form of a key; short forms mean this agent, or the default one.

        Raises:
            InvalidRequest: It is not a key.
        """
        return str(SessionKey.parse(key, default_agent=agent_id or self._agents.default().id))

    def require_session(self, key: str, agent_id: str | None = None) -> Session:
        """Return a session by any form of its key.

        Raises:
            NotFound: It does not exist.
        """
        full = self.full_key(key, agent_id)
        session = self._sessions.get(full)
        if session is None:
            raise NotFound(f"there is no session {full}", details={"key": full})
        return session

    def stop(self, key: str, run_id: str | None) -> list[str]:
        """Stop the runs of a session, after which waiting messages are answered, or one run; return those stopped."""
        return self._runner.abort(run_id, key, waiting=run_id is not None)

    async def _fork(self, call: MethodCall) -> Mapping[str, Any]:
        session = self.require_session(call.params["key"])
        title = call.params.get("label") or session.title or session.key
        fork = await fork_session(
            self._sessions,
            session,
            self._channels.home,
            title[:TEXT_LIMIT],
            self._runner.parts.kept_results,
            run_id=call.params.get("runId"),
        )
        shown = {"key": fork.key, "sessionKey": fork.key, "sessionId": fork.session_id}
        return {"ok": True, **shown, "entry": self._rows.of(fork)}

    async def _create(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        agent = self._agents.get(params.get("agentId") or self._agents.default().id)
        key = params.get("key")
        if params["incognito"] and key:
            raise InvalidRequest("incognito: leave out the key; an incognito session has one of its own")
        changes = await self._changes(params)
        if params["incognito"]:
            full = incognito_key(agent.id, new_id(), self._channels.home)
        else:
            full = named_key(agent.id, key or f"agent:{agent.id}:dashboard:{uuid4()}")
        self._agents.get(SessionKey.parse(full).agent)
        session = await self._sessions.ensure(full, person=call.caller.authority.person)
        changes.setdefault("title", params.get("displayName") or session.title)
        session = await self._sessions.patch(full, **changes)
        run = await self._said(call, full) if params.get("message") or params.get("attachments") else {}
        return {**self._shown(session), "sessionId": session.session_id, "runStarted": bool(run), **run}

    async def _said(self, call: MethodCall, key: str) -> dict[str, Any]:
        """Send the first message of a new conversation; return its run."""
        send, params = await self._gateway.methods.load("chat.send"), call.params
        if send is None:
            raise Unavailable("no channel for conversations is loaded")
        given = {"sessionKey": key, "message": params.get("message", ""), "attachments": params.get("attachments", [])}
        given[IDEMPOTENCY_KEY] = params.get(IDEMPOTENCY_KEY) or new_id()
        try:
            valid = send.schema(given)
        except SchemaError as error:
            raise InvalidRequest(f"{call.method}: {describe_error(error)}") from None
        return {"runId": (await send.handler(replace(call, method=send.name, params=valid)))["runId"]}

    async def _patch(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        await self._begin(call)
        session = self._expected(params)
        changes = await self._changes(params)
        return self._shown(await self._sessions.patch(session.key, **changes) if changes else session)

    async def _changes(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a session that a request sets.

        Raises:
            NotFound, InvalidRequest: There is no such model.
        """
        changes: dict[str, Any] = {_FIELDS[name]: value for name, value in params.items() if name in _FIELDS}
        if "thinking" in changes:
            changes["thinking"] = WORDS.get(changes["thinking"])
        if changes.get("footer") in _FOOTERS:
            changes["footer"] = _FOOTERS[changes["footer"]]
        if "sendPolicy" in params:
            changes["send"] = {policy: send for send, policy in SEND_POLICIES.items()}.get(params["sendPolicy"])
        if "snoozedUntil" in params:
            changes["snoozed_ms"] = params["snoozedUntil"] or 0
        if changes.get("model"):
            await choose_model(self._models, changes["model"])
        return changes

    async def _begin(self, call: MethodCall) -> None:
        """Begin a conversation that a client shows before it has messages."""
        key = SessionKey.parse(self.full_key(call.params["key"], call.params.get("agentId")))
        if key.named or key.kind is SessionKind.MAIN:
            self._agents.get(key.agent)
            await self._sessions.ensure(str(key), person=call.caller.authority.person)

    def _expected(self, params: Mapping[str, Any]) -> Session:
        """Return the session to be changed.

        Raises:
            NotFound: It does not exist.
            Conflict: It is not as the client expects.
        """
        session = self.require_session(params["key"], params.get("agentId"))
        for name, now in (("SessionId", session.session_id), ("SessionUpdatedAt", session.updated_ms)):
            if params.get(f"expected{name}", now) != now:
                raise Conflict(f"expected{name}: {session.key} has changed meanwhile; it is {now} now")
        if params.get("archivedOnly") and not session.archived:
            raise Conflict(f"archivedOnly: {session.key} is not archived")
        return session

    def _shown(self, session: Session) -> dict[str, Any]:
        entry, resolved = self._rows.of(session), self._rows.model_data(session)
        return {"ok": True, "key": session.key, "entry": entry, "resolved": resolved}

    async def _reset(self, call: MethodCall) -> Mapping[str, Any]:
        await self._begin(call)
        key = self.require_session(call.params["key"], call.params.get("agentId")).key
        self._runner.abort(session_key=key)
        session = await self._sessions.reset(key)
        return {**self._shown(session), "sessionId": session.session_id}

    async def _trust(self, call: MethodCall) -> Mapping[str, Any]:
        key, scope = self.full_key(call.params["key"]), LiftScope(call.params["scope"])
        session = await lift_taint(self._sessions, self._runner, key, scope, call.context)
        return {"ok": True, "key": key, "entry": self._rows.of(session)}

    async def _delete(self, call: MethodCall) -> Mapping[str, Any]:
        key = self._expected(call.params).key
        self._runner.abort(session_key=key)
        return {"ok": True, "key": key, "deleted": await self._sessions.delete(key), "archived": []}

    async def _compact(self, call: MethodCall) -> Mapping[str, Any]:
        """Summarise a conversation after its current run; `pending` when it goes on after the answer."""
        session = self.require_session(self.full_key(call.params["key"], call.params.get("agentId")))
        authority = call.context.authority
        if call.params["instructions"] and (authority.tainted or not authority.owner):
            raise Forbidden("instructions: only an owner says what a summary should contain")
        asked = CompactionCall(session.agent_id, session.key, call.context, call.params["instructions"])
        task = self._runner.compact(asked)
        await asyncio.wait({task}, timeout=COMPACTION_WAIT_S)
        told = {"ok": True, "key": session.key, "pending": not task.done(), "compacted": False}
        try:
            done = task.result() if task.done() else None
        except NoSummary as error:
            raise Unavailable(f"no model gave a usable summary: {error.message}") from error
        if done is None:
            return told
        sizes = {"tokensBefore": done.tokens_before, "tokensAfter": done.tokens_after, "messages": done.messages}
        return told | {"compacted": True} | sizes

    async def _abort(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.full_key(call.params["key"], call.params.get("agentId"))
        stopped = self.stop(key, call.params.get("runId"))
        return {"ok": True, "key": key, "aborted": bool(stopped), "runIds": stopped}

    async def _subscribe(self, call: MethodCall) -> Mapping[str, Any]:
        self._topics(call).add(SESSIONS_TOPIC)
        return {"subscribed": True}

    async def _unsubscribe(self, call: MethodCall) -> Mapping[str, Any]:
        self._topics(call).discard(SESSIONS_TOPIC)
        return {"subscribed": False}

    async def _subscribe_messages(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.full_key(call.params["key"], call.params.get("agentId"))
        topics = self._topics(call)
        if len(topics) >= TOPICS_LIMIT:
            raise InvalidRequest(f"key: a connection follows at most {TOPICS_LIMIT} sessions")
        topics.add(session_topic(key))
        return {"subscribed": True, "key": key}

    async def _unsubscribe_messages(self, call: MethodCall) -> Mapping[str, Any]:
        key = self.full_key(call.params["key"], call.params.get("agentId"))
        self._topics(call).discard(session_topic(key))
        return {"subscribed": False, "key": key}

    async def _visible(self, call: MethodCall) -> Mapping[str, Any]:
        """Accept a client's report about its window; nothing here depends on it."""
        return {"ok": True}

    def _topics(self, call: MethodCall) -> set[str]:
        connection = self._gateway.connections.get(call.connection_id or "")
        if connection is None:
            raise InvalidRequest(f"{call.method} is for WebSocket connections")
        return connection.topics
