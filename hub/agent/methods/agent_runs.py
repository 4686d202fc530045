"""`agent` and `agent.wait`: runs that a program requests, outside people's conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runner import AgentRunner
from hub.agent.taint.authorship import check_extra_prompt
from hub.automation.services.addresses import Addresses
from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.lanes import DEFAULT_LIMITS, MAIN
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer
from hub.core.sql import SqlConnection
from hub.core.surfaces import LARGE_FRAME_BYTES, READ, WRITE, Method, MethodCall
from hub.core.tasks import TaskOwner
from hub.gateway.calls.attachments import ATTACHMENTS_SCHEMA, images_of
from hub.gateway.calls.method_table import IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_SCHEMA
from hub.messaging.contract import Address
from hub.messaging.outbox.outbox import Outbox
from hub.messaging.outbox.replies import message_of
from hub.models.contract import Message, Role, TextBlock
from hub.models.thinking import WORDS
from hub.sessions.keys import SessionKey, main_key
from hub.storage.database import Database
from hub.voice.voice_wake import VoiceWake

OWNER = "gateway"
TEXT_LIMIT = 1_000_000
WAIT_DEFAULT_MS = 30_000
WAIT_LIMIT_MS = 3_600_000
SUMMARY_LIMIT = 200

_NAME = All(str, Length(min=1, max=256))
_CHANNEL, _ACCOUNT, _TO = ("replyChannel", "channel"), ("replyAccountId", "accountId"), ("replyTo", "to")
"""Where an answer goes: the first of each that is given."""


class _Times(Struct, frozen=True):
    """When a run began and ended; None of one that is not stored, or has not ended."""

    started_ms: int | None = None
    ended_ms: int | None = None
    session_key: str | None = None


class AgentMethods:
    """The methods that run agents.

    Args:
        agents: The agents.
        runner: Runs them.
        outbox: Delivers an answer to a chat when requested.
        addresses: Finds the chat of a conversation.
        db: Knows when runs began and ended.
        tasks: Owner of the runs.
        voice_wake: Knows whom which wake words call.
    """

    def __init__(
        self,
        *,
        agents: Agents,
        runner: AgentRunner,
        outbox: Outbox,
        addresses: Addresses,
        db: Database,
        clock: Clock,
        tasks: TaskOwner,
        voice_wake: VoiceWake,
    ) -> None:
        self._sessions = runner.parts.sessions
        self._agents = agents
        self._runner = runner
        self._outbox = outbox
        self._addresses = addresses
        self._db = db
        self._clock = clock
        self._tasks = tasks
        self._voice_wake = voice_wake

    def methods(self) -> list[Method]:
        """Return the methods."""
        agent = Schema(
            {
                Required("message"): All(str, Length(min=1, max=TEXT_LIMIT)),
                Required(IDEMPOTENCY_KEY): IDEMPOTENCY_KEY_SCHEMA,
                Optional("agentId"): AnyOf(None, _NAME),
                Optional("sessionKey"): AnyOf(None, All(str, Length(min=1, max=2048))),
                Optional("sessionId"): AnyOf(None, _NAME),
                Optional("provider", description="Of the model, if its name does not say it."): AnyOf(None, _NAME),
                Optional("model"): AnyOf(None, _NAME),
                Optional("thinking"): AnyOf(None, In(list(WORDS))),
                Optional("deliver", default=False): boolean,
                **{Optional(name): AnyOf(None, _NAME) for pair in (_CHANNEL, _ACCOUNT) for name in pair},
                **{Optional(name): AnyOf(None, All(str, Length(min=1, max=512))) for name in _TO},
                Optional("attachments", default=list): ATTACHMENTS_SCHEMA,
                Optional("timeout"): AnyOf(None, All(integer, Range(min=0, max=86_400))),
                Optional("extraSystemPrompt"): AnyOf(None, All(str, Length(max=TEXT_LIMIT))),
                Optional("lane", default=MAIN, description="One that is not known here is main."): _NAME,
                Optional("voiceWakeTrigger", description="The wake words, which may call another agent."): AnyOf(
                    None, All(str, Length(max=256))
                ),
            }
        )
        wait = Schema(
            {
                Required("runId"): IDEMPOTENCY_KEY_SCHEMA,
                Optional("timeoutMs", default=WAIT_DEFAULT_MS): All(integer, Range(min=0, max=WAIT_LIMIT_MS)),
            }
        )
        return [
            Method(
                "agent",
                self._agent,
                OWNER,
                agent,
                WRITE,
                acts=True,
                repeatable=True,
                answers=2,
                frame_limit=LARGE_FRAME_BYTES,
            ),
            Method("agent.wait", self._wait, OWNER, wait, READ),
        ]

    async def _agent(self, call: MethodCall) -> Mapping[str, Any]:
        if call.params.get("voiceWakeTrigger"):
            call = replace(call, params={**call.params, **await self._called(call.params)})
        address = await self._address(call.params) if call.params["deliver"] else None
        request = self._request(call, address)
        self._tasks.spawn(self._run(call, request, address), name=f"agent {request.run_id}")
        return {
            "runId": request.run_id,
            "status": "accepted",
            "acceptedAt": int(self._clock.time() * 1000),
            "sessionKey": request.session_key,
        }

    def _request(self, call: MethodCall, address: Address | None) -> RunRequest:
        params = call.params
        session_key = self._session_key(params)
        agent = self._agents.get(SessionKey.parse(session_key).agent)
        run_id = params[IDEMPOTENCY_KEY]

        def on_final(connection: SqlConnection, result: RunResult) -> None:
            message = message_of(result.reply)
            if address is not None and result.status == RunStatus.OK and message is not None:
                self._outbox.insert(
                    connection,
                    address,
                    message,
                    caused_by=call.context.id,
                    session_key=session_key,
                    run_id=run_id,
                )

        request = RunRequest(
            run_id=run_id,
            agent_id=agent.id,
            session_key=session_key,
            message=Message(Role.USER, (TextBlock(params["message"]), *images_of(params["attachments"]))),
            context=call.context,
            model=_model(params),
            thinking=WORDS.get(params.get("thinking") or ""),
            extra_system_prompt=params.get("extraSystemPrompt"),
            lane=params["lane"] if params["lane"] in DEFAULT_LIMITS else MAIN,
            timeout_s=float(params["timeout"]) if params.get("timeout") else None,
            on_final=on_final if address is not None else None,
        )
        check_extra_prompt(request)
        return request

    async def _called(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return whom the wake words call, where the client names nobody but the main conversation."""
        named = params.get("agentId") or params.get("sessionId")
        if named or self._session_key(params) != main_key(self._agents.default().id):
            return {}
        target = await self._voice_wake.target(params["voiceWakeTrigger"])
        if agent_id := target.get("agentId"):
            return {"agentId": agent_id, "sessionKey": main_key(agent_id)}
        return {"sessionKey": target["sessionKey"]} if "sessionKey" in target else {}

    def _session_key(self, params: Mapping[str, Any]) -> str:
        agent_id = params.get("agentId")
        if agent_id is not None:
            self._agents.get(agent_id)
        if params.get("sessionKey"):
            key = str(SessionKey.parse(params["sessionKey"], default_agent=agent_id or self._agents.default().id))
        elif params.get("sessionId"):
            found = [each for each in self._sessions.list() if each.session_id == params["sessionId"]]
            # As OpenClaw's command line names the session of an id that it does not find.
            new = f"agent:{agent_id or self._agents.default().id}:explicit:{params['sessionId']}"
            key = found[0].key if found else str(SessionKey.parse(new))
        else:
            key = main_key(agent_id or self._agents.default().id)
        if agent_id is not None and SessionKey.parse(key).agent != agent_id:
            raise InvalidRequest(f"agentId: {key} is not a session of {agent_id}")
        return key

    async def _address(self, params: Mapping[str, Any]) -> Address:
        channel, account, to = (_first(params, names) for names in (_CHANNEL, _ACCOUNT, _TO))
        if to:
            return (await self._addresses.at(channel, to, account or "default")).address
        place = None if channel or to else await self._addresses.of_session(self._session_key(params))
        if place is None:
            raise InvalidRequest("deliver: expected a destination in channel and to")
        return place.address

    async def _run(self, call: MethodCall, request: RunRequest, address: Address | None) -> None:
        try:
            result = await self._runner.run(request)
        except HubError as error:
            result = RunResult(
                request.run_id, request.session_key, RunStatus.ERROR, stop="error", error=error.as_dict()
            )
        if call.respond_later is not None:
            await call.respond_later(_final(result, await self._times(request.run_id)))
        if address is not None and result.status == RunStatus.OK:
            self._outbox.notify(address)

    async def _wait(self, call: MethodCall) -> Mapping[str, Any]:
        run_id = call.params["runId"]
        result = await self._runner.wait(run_id, call.params["timeoutMs"] / 1000)
        times = await self._times(run_id)
        if result is None:
            if times.session_key is None:
                raise NotFound(f"there is no run {run_id[:64]}")
            begun = {"startedAt": times.started_ms, "sessionKey": times.session_key}
            return {"runId": run_id, "status": "timeout", **begun}
        shown: dict[str, Any] = {
            "runId": run_id,
            "status": _status(result),
            "startedAt": times.started_ms,
            "endedAt": times.ended_ms,
            **_end(result, times),
            "sessionKey": result.session_key,
            "reply": result.reply,
        }
        notices = {"notices": list(result.notices)} if result.notices else {}
        return shown | notices | ({"error": dict(result.error)} if result.error else {})

    async def _times(self, run_id: str) -> _Times:
        row = await self._db.read(
            lambda conn: conn.execute(
                "SELECT COALESCE(started_ms, created_ms), ended_ms, session_key FROM runs WHERE id = ?", (run_id,)
            ).fetchone()
        )
        return _Times(*row) if row is not None else _Times()


def _first(params: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((params[name] for name in names if params.get(name)), None)


def _model(params: Mapping[str, Any]) -> str | None:
    provider, model = params.get("provider"), params.get("model")
    return f"{provider}/{model}" if provider and model else model


def _end(result: RunResult, times: _Times) -> dict[str, Any]:
    """Return what is told of the end of a run beside its words."""
    took = None if times.started_ms is None or times.ended_ms is None else times.ended_ms - times.started_ms
    told = {"model": result.model, "usage": result.usage.as_dict(), "stopReason": result.stop}
    return told | {"durationMs": took, "aborted": result.status is RunStatus.ABORTED}


def _final(result: RunResult, times: _Times) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "runId": result.run_id,
        "status": _status(result),
        "summary": result.reply[:SUMMARY_LIMIT] or result.status.value,
        "sessionKey": result.session_key,
        "result": {
            "payloads": [{"text": result.reply}] if result.reply else [],
            "meta": _end(result, times),
        },
    }
    return shown | ({"error": dict(result.error)} if result.error else {})


def _status(result: RunResult) -> str:
    """Return the protocol's status: ok, error or timeout; a stopped run is an error."""
    return "error" if result.status is RunStatus.ABORTED else result.status.value
