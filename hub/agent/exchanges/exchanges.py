"""Exchanges: one conversation writes to another, both answer in turn, and the other may inform its people."""

from __future__ import annotations

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from hub.agent.exchanges.settings import ExchangeSettings
from hub.agent.exchanges.words import announce_step, is_over, is_unsaid, message_from
from hub.agent.run_request import RunRequest, RunResult, RunStatus
from hub.agent.runner import AgentRunner
from hub.agent.subagents.announcing import RequesterPlaces
from hub.agent.taint.authorship import AUTOMATION, is_room
from hub.core.context import Authority, Context, ToolPolicy
from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.ids import new_id
from hub.core.lanes import Priority
from hub.core.sql import SqlConnection
from hub.models.contract import user_message
from hub.sessions.keys import SessionKey, SessionKind

OPEN_LIMIT = 20
OPEN_PER_SESSION = 3
TURN_S = 900.0
RUN_PREFIX = "exchange-"


class Correspondent(Struct, frozen=True):
    """One side of an exchange: a conversation and its agent."""

    agent_id: str
    session_key: str


class ExchangeRequest(Struct, frozen=True):
    """A message from one conversation to another.

    Attributes:
        text: The message.
        context: The context of the call, with the rights that are handed on.
        writer: The writer.
        other: The addressee.
        max_turns: Further turns after the first answer.
    """

    text: str
    context: Context
    writer: Correspondent
    other: Correspondent
    max_turns: int


class Exchange:
    """An exchange in progress.

    Attributes:
        id: Names its first run.
        request: Its request.
        answer: The first answer.
    """

    def __init__(self, id: str, request: ExchangeRequest) -> None:
        self.id = id
        self.request = request
        self.run_id = id
        self.answer: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self.stopped = False


class Exchanges:
    """Runs exchanges between conversations; an exchange that the hub's stop interrupts is not resumed.

    Args:
        runner: Runs the turns.
        places: Where the other side's people are notified.
    """

    def __init__(self, runner: AgentRunner, places: RequesterPlaces) -> None:
        self._runner = runner
        self._parts = runner.parts
        self._places = places
        self._open: dict[str, Exchange] = {}
        runner.on_abort(self._stop)

    def begin(self, request: ExchangeRequest, settings: ExchangeSettings) -> Exchange:
        """Send a message to the other side; its answer resolves `Exchange.answer`.

        Raises:
            Forbidden: The agents may not write to each other.
            InvalidRequest: It is the same conversation, or that of a subagent.
            LimitExceeded: Too many exchanges are active.
        """
        settings.check(request.writer.agent_id, request.other.agent_id)
        if request.writer.session_key == request.other.session_key:
            raise InvalidRequest("session_key: this is the conversation you are in")
        if SessionKey.parse(request.other.session_key).kind is SessionKind.SUBAGENT:
            raise InvalidRequest("session_key: use the tool subagents (steer) to send a message to a subagent")
        mine = sum(each.request.writer == request.writer for each in self._open.values())
        if mine >= OPEN_PER_SESSION or len(self._open) >= OPEN_LIMIT:
            raise LimitExceeded(
                f"{mine} exchanges of this conversation are active ({len(self._open)} in all); wait until one has ended"
            )
        exchange = Exchange(f"{RUN_PREFIX}{new_id()}", request)
        self._open[exchange.id] = exchange
        self._parts.tasks.spawn(self._go_on(exchange), name=exchange.id)
        return exchange

    async def _go_on(self, exchange: Exchange) -> None:
        request = exchange.request
        writer, other = request.writer, request.other
        try:
            if exchange.stopped:
                return
            result = await self._turn(exchange, other, writer, request.text, tainted=False)
            exchange.answer.set_result(result)
            answered, speaker, listener = result, other, writer
            for _ in range(request.max_turns):
                if not _goes_on(result) or exchange.stopped:
                    break
                result = await self._turn(exchange, listener, speaker, result.reply, tainted=result.tainted)
                speaker, listener = listener, speaker
                if speaker == other and _goes_on(result):
                    answered = result
            if answered.status is RunStatus.OK and not is_over(answered.reply) and not exchange.stopped:
                await self._announce(exchange, answered)
        finally:
            del self._open[exchange.id]
            if not exchange.answer.done():
                exchange.answer.set_result(RunResult(exchange.id, other.session_key, RunStatus.ABORTED))

    async def _turn(
        self, exchange: Exchange, hearer: Correspondent, speaker: Correspondent, text: str, *, tainted: bool
    ) -> RunResult:
        """Run one turn: one side answers the other."""
        said = message_from(speaker.agent_id, speaker.session_key, text)
        return await self._runner.run_until_kept(self._run(exchange, hearer, speaker, said, tainted=tainted))

    def _run(
        self, exchange: Exchange, hearer: Correspondent, speaker: Correspondent, text: str, *, tainted: bool
    ) -> RunRequest:
        request = exchange.request
        first = exchange.run_id == exchange.id and not exchange.answer.done()
        exchange.run_id = exchange.id if first else f"{RUN_PREFIX}{new_id()}"
        authority = self._rights(request, hearer).narrow(tainted=tainted)
        return RunRequest(
            run_id=exchange.run_id,
            agent_id=hearer.agent_id,
            session_key=hearer.session_key,
            message=user_message(text),
            context=Context(authority, parent_id=request.context.id),
            lane=f"exchange:{hearer.session_key}",
            priority=Priority.BACKGROUND,
            timeout_s=TURN_S,
            sender_name=f"agent {speaker.agent_id}",
            channel=AUTOMATION,
        )

    def _rights(self, request: ExchangeRequest, hearer: Correspondent) -> Authority:
        """Return the rights of a turn: the writer's, limited to tools of both agents, without further exchanges."""
        authority = request.context.authority.narrow(policy=ToolPolicy(deny=frozenset({"sessions_send"}), source=KEY))
        for agent_id in {request.writer.agent_id, request.other.agent_id} - {hearer.agent_id}:
            for policy in self._parts.agents.get(agent_id).policies(self._parts.tools.rules, None):
                authority = authority.narrow(policy=policy)
        # In a room others read along: an owner keeps the name there, not the rights.
        return authority.narrow(scopes=(), owner=False) if is_room(hearer.session_key) else authority

    async def _announce(self, exchange: Exchange, answered: RunResult) -> None:
        """Let the other side inform its people, if it has any and decides to."""
        request = exchange.request
        other = request.other
        place = await self._places.find("", other.session_key)
        if not place:
            return
        text = announce_step(request.writer.agent_id, request.text, answered.reply)
        run = self._run(exchange, other, request.writer, text, tainted=answered.tainted)

        def end(connection: SqlConnection, result: RunResult) -> None:
            if result.status is RunStatus.OK and not is_unsaid(result.reply):
                self._places.answer(connection, place, run, result)

        await self._runner.run_until_kept(replace(run, on_final=end))
        self._places.answered(place)

    def _stop(self, session_key: str) -> list[str]:
        """Stop the exchanges of a conversation that is stopped."""
        found = [
            each
            for each in self._open.values()
            if session_key in (each.request.writer.session_key, each.request.other.session_key)
        ]
        for each in found:
            each.stopped = True
        return [run_id for each in found for run_id in self._runner.abort(run_id=each.run_id)]


KEY = "tools.agent_to_agent"


def _goes_on(result: RunResult) -> bool:
    return result.status is RunStatus.OK and not is_over(result.reply)
