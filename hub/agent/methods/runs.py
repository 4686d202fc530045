"""`runs.*`: what agents did, step by step, and the same question put to another model. For owners, who see of others'
conversations what sessions show them: nothing of what others say in private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hub.agent.runner import AgentRunner
from hub.agent.runs.replay import replay_request
from hub.agent.runs.run_reading import read_run, transcript_of
from hub.agent.runs.run_rows import STATES, StoredRun, find_run, list_runs
from hub.agent.runs.run_timeline import RunWords
from hub.agent.runs.sent import calls_of, conversation, instructions, parts_of
from hub.agent.runs.store import state_of
from hub.agent.runs.trace import STEPS_LIMIT
from hub.agent.runs.visible import is_visible
from hub.core.context import Authority
from hub.core.errors import Forbidden, NotFound
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, integer
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.security.people import People
from hub.security.redaction import Redactor
from hub.sessions.keys import SessionKey
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.history import HistoryStore

OWNER = "gateway"
LIST_LIMIT = 200
SCAN_LIMIT = 2_000
"""Runs that one list looks at; `before` goes on behind them."""

_ID = All(str, Length(min=1, max=256))


class RunMethods:
    """The methods about runs.

    Args:
        db: Has their rows.
        history: Has their traces, when it records.
        sessions: The conversations.
        runner: Knows the active runs.
        people: Returns the people of this home.
        redactor: Removes secrets from displayed text.
    """

    def __init__(
        self,
        *,
        db: Database,
        history: HistoryStore,
        sessions: SessionStore,
        runner: AgentRunner,
        people: Callable[[], People],
        redactor: Redactor,
    ) -> None:
        self._db = db
        self._history = history
        self._sessions = sessions
        self._runner = runner
        self._people = people
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        list_ = Schema(
            {
                Optional("limit", default=50): All(integer, Range(min=1, max=LIST_LIMIT)),
                Optional("agentId"): All(str, Length(min=1, max=64)),
                Optional("sessionKey"): All(str, Length(min=1, max=2048)),
                Optional("state"): In(list(STATES)),
                Optional("before", description="`next` of an earlier list: the runs before it."): All(
                    integer, Range(min=1)
                ),
            }
        )
        number = All(integer, Range(min=0, max=STEPS_LIMIT))
        sent = Schema({Required("runId"): _ID, Optional("call", default=0, description="Which call, from 0."): number})
        replay = Schema({Required("runId"): _ID, Required("model"): _ID})
        return [
            Method("runs.list", self._list, OWNER, list_, ADMIN),
            Method("runs.sent", self._sent, OWNER, sent, ADMIN),
            Method("runs.get", self._get, OWNER, Schema({Required("runId"): _ID}), ADMIN),
            Method("runs.replay", self._replay, OWNER, replay, ADMIN, acts=True),
        ]

    async def visible(self, run_id: str, authority: Authority) -> StoredRun:
        """Return a run that the caller may see.

        Raises:
            NotFound: It does not exist, or the caller may not see it.
        """
        run = await self._db.read(partial(find_run, run_id=run_id))
        if run is None or not self._is_visible(run, authority):
            raise NotFound(f"there is no run {run_id[:100]!r}", details={"runId": run_id[:100]})
        return run

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        params, authority = call.params, call.context.authority
        only = {column: params[name] for name, column in _COLUMNS.items() if name in params}
        if "sessionKey" in params:
            default = params.get("agentId") or self._runner.parts.agents.default().id
            only["session_key"] = str(SessionKey.parse(params["sessionKey"], default_agent=default))
        limit, before = params["limit"], params.get("before")
        found: list[StoredRun] = []
        seen, last = 0, before
        while len(found) < limit and seen < SCAN_LIMIT:
            rows = await self._db.read(partial(list_runs, only=only, before=last, limit=LIST_LIMIT))
            found += [row for row in rows if self._is_visible(row, authority)]
            seen += len(rows)
            if rows:
                last = rows[-1].position
            if len(rows) < LIST_LIMIT:
                last = None
                break
        shown = found[:limit]
        next_ = shown[-1].position if len(found) > limit else last
        return {"runs": [self._redactor.redact_data(run.as_dict()) for run in shown], "next": next_}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        run = await self.visible(call.params["runId"], call.context.authority)
        whole = await read_run(run, self._runner, self._db, self._history, self._sessions)
        shown = {
            **run.as_dict(),
            "reply": None if whole.deleted else run.reply,
            "prompt": whole.prompt,
            "steps": whole.steps,
            "dropped": whole.dropped,
            "traced": whole.traced,
        }
        redacted: dict[str, Any] = self._redactor.redact_data(shown)
        return redacted

    async def _sent(self, call: MethodCall) -> Mapping[str, Any]:
        """Return what a model was sent in one of the run's calls, without secrets."""
        run, number = await self.visible(call.params["runId"], call.context.authority), call.params["call"]
        trace = self._runner.trace(run.id) or await self._history.run_trace(run.id) or {}
        transcript, calls = await transcript_of(run, self._sessions), calls_of(trace)
        if transcript is None or number >= len(calls):
            known = (
                f"there are {len(calls)} calls, from 0" if transcript is not None else "its conversation is not kept"
            )
            raise NotFound(
                f"the request of call {number} of the run is not recorded: {known}", details={"runId": run.id[:100]}
            )
        pieces = await self._history.run_pieces([each["piece"] for each in parts_of(trace)])
        shown = {
            "runId": run.id,
            "model": calls[number]["model"],
            "at": calls[number]["at_ms"],
            "call": number,
            "calls": len(calls),
            **instructions(trace, pieces),
            **conversation(transcript, run.id, calls, number, self._runner.parts.workspaces.zone()),
        }
        redacted: dict[str, Any] = self._redactor.redact_data(shown)
        return redacted

    async def _replay(self, call: MethodCall) -> Mapping[str, Any]:
        if not call.context.authority.owner:
            raise Forbidden("only an owner of this home may replay a run with another model")
        run = await self.visible(call.params["runId"], call.context.authority)
        transcript = await transcript_of(run, self._sessions)
        if transcript is None:
            raise NotFound(f"the conversation of the run {run.id[:100]!r} is not kept", details={"runId": run.id[:100]})
        parts = self._runner.parts
        model = (await parts.models.resolve(call.params["model"])).ref
        request = replay_request(parts, transcript, run.id, run.agent_id, model, call.context)
        begun = parts.clock.monotonic()
        result = await self._runner.run(request)
        words = RunWords(transcript.entries(), run.id)
        sides = {
            "original": {**run.as_dict(), "reply": run.reply, "calls": [each.name for each in words.calls]},
            "replay": {
                "runId": result.run_id,
                "state": state_of(result).value,
                "durationMs": round((parts.clock.monotonic() - begun) * 1_000),
                "model": result.model,
                "usage": result.usage.as_dict(),
                "error": result.error,
                "reply": result.reply,
                "calls": [each.name for message in result.messages for each in message.tool_calls],
            },
        }
        redacted: dict[str, Any] = self._redactor.redact_data(sides)
        return redacted

    def _is_visible(self, run: StoredRun, authority: Authority) -> bool:
        return is_visible(run.session_key, run.authority, authority, self._people())


_COLUMNS = {"agentId": "agent_id", "state": "state"}
