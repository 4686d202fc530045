"""Runs for `/v1`: resolves a request's agent and conversation, finds its new part, and runs it."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.agents import Agents
from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runner import AgentRunner
from hub.agent.taint.authorship import check_extra_prompt
from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.surfaces import HttpCall
from hub.core.tasks import TaskOwner
from hub.gateway.http_api.client_tools import ClientTools, arguments_text, call_id, run_of_call
from hub.gateway.http_api.kept_runs import Answer, ClientCall, KeptRun, KeptRuns
from hub.gateway.http_api.openai_shapes import agent_of, join_messages
from hub.gateway.http_api.retries import RequestKey, repeat_answer, request_hash, request_key
from hub.gateway.http_api.run_stream import RunStream
from hub.models.answer_form import AnswerForm
from hub.models.contract import Message, Role
from hub.sessions.entry import TranscriptEntry
from hub.sessions.keys import SessionKey, direct_key
from hub.sessions.store import SessionStore

SESSION_HEADER = "x-homarus-session"
OUTSIDE_HEADER = "x-homarus-outside"
"""Says that the message quotes words from outside, between markers of ours."""
CHANNEL = "api"
RECENT_LIMIT = 1_000
"""Answers that are remembered for clients that send a request again by themselves."""

_log = logging.getLogger(__name__)


class ApiRequest(Struct, frozen=True):
    """A request of any of the APIs.

    Attributes:
        model: Names the agent.
        messages: The conversation as the client sent it, without system messages.
        system: The system messages.
        user: Names a session.
        tools: The client's.
        form: The form of the answer.
        thinking: Thinking level.
        stream: Whether the answer is streamed.
        previous: The run whose conversation it continues.
        shown: Whether the client may read the answer again.
        echo: The part of the request that its answer repeats, and when it came.
    """

    model: str
    messages: Sequence[Message]
    system: str | None = None
    user: str | None = None
    tools: ClientTools = ClientTools()
    form: AnswerForm | None = None
    thinking: str | None = None
    stream: bool = False
    previous: str | None = None
    shown: bool = False
    echo: Mapping[str, Any] = {}


class Target(Struct, frozen=True):
    """The agent and session of a request; without a session, the client keeps the conversation."""

    agent_id: str
    session_key: str | None


class RequestSaid(Struct, frozen=True):
    """The content of a request: the conversation so far, tool results, and the new message (may be empty)."""

    history: tuple[Message | TranscriptEntry, ...]
    results: tuple[Message, ...]
    message: Message


class ApiRuns:
    """Makes runs of `/v1` requests.

    Args:
        agents: The agents.
        sessions: Which conversations there are.
        runner: Runs them.
        bus: Has their text.
        tasks: Owner of their tasks.
        clock: The clock.
        kept: The stored runs.
    """

    def __init__(
        self,
        agents: Agents,
        sessions: SessionStore,
        runner: AgentRunner,
        bus: EventBus,
        tasks: TaskOwner,
        *,
        clock: Clock,
        kept: KeptRuns,
    ) -> None:
        self.agents = agents
        self.kept = kept
        self._sessions = sessions
        self._runner = runner
        self._bus = bus
        self._tasks = tasks
        self.clock = clock
        self._recent: OrderedDict[str, tuple[str, RunStream]] = OrderedDict()

    async def begin(self, call: HttpCall, asked: ApiRequest) -> RunStream | Answer:
        """Begin the run that answers a request, or return the run or answer of the same earlier request.

        Raises:
            NotFound: There is no such agent.
            InvalidRequest: The request cannot be understood, or its idempotency key belongs to another.
            Forbidden: It adds to the system prompt of a conversation that is kept, and is not the owner's.
            Conflict: The first one was cut off, and it is not known how far it came.
        """
        hashed = request_hash(call)
        place = request_key(call, hashed)
        known = self._recent.get(place.name) if place is not None and (place.keyed or place.again) else None
        if known is None and place is not None and place.keyed:
            known_run = await self.kept.at(place.name)
            known = self._recent.get(place.name)  # one that began meanwhile
            if known is None and known_run is not None:
                return repeat_answer(known_run, hashed)
        if known is not None:
            if known[0] != hashed:
                raise InvalidRequest("Idempotency-Key: it was used before with another request")
            return known[1]
        return await self._new(call, asked, place, hashed)

    async def _new(self, call: HttpCall, asked: ApiRequest, place: RequestKey | None, hashed: str) -> RunStream:
        principal = call.known_caller.authority.principal
        target = await self._target(call, asked, principal)
        chain = await self._chain(asked, target, principal)
        before = tuple(entry for run in chain for entry in run.entries)
        said = await self._said(asked, target, before, principal)
        run_id = new_id()
        outside, context = OUTSIDE_HEADER in call.request.headers, call.context()
        request = RunRequest(
            run_id=run_id,
            agent_id=target.agent_id,
            session_key=target.session_key or direct_key(target.agent_id, run_id, channel=CHANNEL),
            message=said.message,
            context=context.tainted() if outside else context,
            quoted=outside,
            thinking=asked.thinking,
            extra_system_prompt=asked.system,
            history=said.history if target.session_key is None else None,
            channel=CHANNEL,
            client_tools=asked.tools.specs,
            tool_choice=asked.tools.choice,
            results=said.results,
            form=asked.form,
        )
        check_extra_prompt(request)
        key = place.name if place is not None and place.keyed else None
        row = KeptRun(
            *(run_id, principal, key, hashed, target.session_key, target.agent_id),
            previous=asked.previous if before else None,
            shown=asked.shown,
            echo=asked.echo,
        )
        if key is not None and (begun := self._recent.get(key)) is not None:
            return begun[1]  # the same request, while this one was read
        begin = partial(self.kept.keep, row) if key is not None else None
        finish = partial(self._finish, row, len(before))
        services = (self._runner, self._bus, self._tasks, self.clock)
        stream = RunStream(*services, request, begin=begin, finish=finish, in_pieces=asked.stream)
        if place is not None:
            stream.keyed, stream.retried = place.keyed, True
            self._recent[place.name] = hashed, stream
            while len(self._recent) > RECENT_LIMIT:
                self._recent.popitem(last=False)
        return stream

    def _finish(self, row: KeptRun, before: int, result: RunResult) -> Answer | Coroutine[Any, Any, Answer]:
        """Return the answer of a run, or a function that keeps it for a client that may continue, reread or retry."""
        answer = _answer(result, int(self.clock.time()))
        ok = result.status is RunStatus.OK
        if row.place is None and not (ok and (row.shown or answer.calls)):
            return answer
        begin = before if row.shown else result.heard
        entries, heard = (result.entries[begin:], max(0, result.heard - begin)) if ok else ((), 0)
        return self._keep(replace(row, answer=answer, entries=tuple(entries), heard=heard), answer)

    async def _keep(self, row: KeptRun, answer: Answer) -> Answer:
        try:
            await self.kept.keep(row)
        except HubError as error:
            _log.error("the answer of run %s cannot be kept for its client: %s", row.id, error.message)
        return answer

    async def _target(self, call: HttpCall, asked: ApiRequest, principal: str) -> Target:
        """Return the target of a request: the model names the agent, header or `user` the session."""
        named = agent_of(asked.model, self.agents)
        agent_id = named or self.agents.default().id
        given = call.request.headers.get(SESSION_HEADER)
        key: str | None = None
        if given:
            parsed = SessionKey.parse(given.strip(), default_agent=agent_id)
            if named is not None and parsed.agent != named:
                raise InvalidRequest(f"{SESSION_HEADER}: {given[:80]} is a session of {parsed.agent}, not of {named}")
            agent_id, key = self.agents.get(parsed.agent).id, str(parsed)
        elif asked.user:
            key = direct_key(agent_id, asked.user, channel=CHANNEL)
        if asked.previous is None:
            return Target(agent_id, key)
        previous = await self.kept.get(asked.previous, principal)
        if previous is None or (previous.session_key is not None and self._sessions.get(previous.session_key) is None):
            raise _no_previous("that conversation was not kept: it is older than 24 hours, or was not to be stored")
        if key is not None and key != previous.session_key:
            raise _no_previous("that response belongs to another session than the one that is named")
        return Target(previous.agent_id, previous.session_key)

    async def _chain(self, asked: ApiRequest, target: Target, principal: str) -> Sequence[KeptRun]:
        if asked.previous is None or target.session_key is not None:
            return ()
        chain = await self.kept.chain(asked.previous, principal)
        if not chain:
            raise _no_previous("that conversation is not kept as a whole any more")
        return chain

    async def _said(
        self, asked: ApiRequest, target: Target, before: Sequence[TranscriptEntry], principal: str
    ) -> RequestSaid:
        """Return the new part of a request.

        With a session of the hub's that is what comes after the last message of the assistant; else everything but
        the last message is history. Where the client repeats what an earlier run did, that run's own entries are taken.
        """
        messages = list(asked.messages)
        runs = await self._runs_of(messages, principal)
        end = max((at + 1 for at, each in enumerate(messages) if each.role is Role.ASSISTANT), default=0)
        tail = [_own_id(message, runs) for message in messages[end:]]
        results = tuple(message for message in tail if message.role is Role.TOOL)
        new = [message for message in tail if message.role is Role.USER]
        if not results and (not new or tail[-1].role is not Role.USER):
            raise InvalidRequest("messages: the last one must be the user's", details={"param": "messages"})
        if target.session_key is not None:
            _judge_results(messages[end:], runs, target.session_key)
            return RequestSaid((), results, join_messages(new))
        history: list[Message | TranscriptEntry] = list(before)
        for message in messages[:end]:
            run = runs.get(next((run_of_call(call.id) or "" for call in message.tool_calls), ""))
            if run is None or message.role is not Role.ASSISTANT:
                history.append(_own_id(message, runs))
            else:
                history.extend(entry for entry in run.entries[run.heard :] if entry.message is not None)
        if results:
            return RequestSaid(tuple(history), results, join_messages(new))
        return RequestSaid((*history, *new[:-1]), (), new[-1])

    async def _runs_of(self, messages: Sequence[Message], principal: str) -> Mapping[str, KeptRun]:
        """Return the runs that made the calls in some messages, by their ids."""
        ids = {run_of_call(id) for message in messages for id in (message.tool_call_id, *_ids(message))} - {None}
        found = [await self.kept.get(id, principal) for id in sorted(id for id in ids if id is not None)]
        return {run.id: run for run in found if run is not None}


def _answer(result: RunResult, now_s: int) -> Answer:
    failed = result.status not in (RunStatus.OK, RunStatus.ABORTED)
    calls = tuple(
        ClientCall(call_id(result.run_id, number), call.id, call.name, arguments_text(call))
        for number, call in enumerate(result.calls)
    )
    return Answer(
        *(result.run_id, now_s, result.reply, calls, result.stop, result.usage),
        error=(result.error or {}) if failed else None,
        status=result.status.value,
        model=result.model or "",
        notices=result.notices,
    )


def _ids(message: Message) -> list[str]:
    return [call.id for call in message.tool_calls]


def _own_id(message: Message, runs: Mapping[str, KeptRun]) -> Message:
    """Return a tool's result with the model's id of the call."""
    run = runs.get(run_of_call(message.tool_call_id) or "") if message.role is Role.TOOL else None
    if run is None or run.answer is None:
        return message
    call = next((call for call in run.answer.calls if call.id == message.tool_call_id), None)
    return message if call is None else replace(message, tool_call_id=call.own_id, tool_name=call.name)


def _judge_results(tail: Sequence[Message], runs: Mapping[str, KeptRun], session_key: str) -> None:
    for message in tail:
        if message.role is Role.TOOL:
            run = runs.get(run_of_call(message.tool_call_id) or "")
            if run is None or run.session_key != session_key:
                raise InvalidRequest(
                    "messages: no tool call of this session has that id", details={"param": "messages"}
                )


def _no_previous(reason: str) -> InvalidRequest:
    return InvalidRequest(f"previous_response_id: {reason}", details={"param": "previous_response_id"})
