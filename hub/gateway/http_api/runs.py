"""Runs for `/v1`: which agent and session a request means, and the run it becomes."""

from __future__ import annotations

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.run_request import RunRequest
from hub.agent.runner import AgentRunner
from hub.agent.whose_words import check_extra_prompt
from hub.core.errors import InvalidRequest
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.gateway.calls.contract import HttpCall
from hub.gateway.http_api.openai_shapes import agent_of
from hub.gateway.http_api.run_stream import RunStream
from hub.models.contract import Message
from hub.sessions.keys import SessionKey, direct_key
from hub.sessions.store import SessionStore

SESSION_HEADER = "x-homarus-session"
CHANNEL = "api"
KEEPALIVE_S = 15.0


class Target(Struct, frozen=True):
    """The agent and session that a request means.

    Attributes:
        agent_id: Who answers.
        session_key: The session; None for a conversation of this request's own, which leaves no trace.
    """

    agent_id: str
    session_key: str | None

    @property
    def persistent(self) -> bool:
        """Whether the conversation is kept."""
        return self.session_key is not None


class RunQuery(Struct, frozen=True):
    """A client's request: the target, the new message, earlier messages, extra prompt and thinking level."""

    target: Target
    message: Message
    history: tuple[Message, ...]
    system: str | None = None
    thinking: str | None = None


class ApiRuns:
    """Makes runs of `/v1` requests.

    Args:
        agents: Who there is.
        sessions: Which conversations there are.
        runner: Runs them.
        bus: Tells their text.
        tasks: Owner of their tasks.
    """

    def __init__(
        self, agents: Agents, sessions: SessionStore, runner: AgentRunner, bus: EventBus, tasks: TaskOwner
    ) -> None:
        self.agents = agents
        self.sessions = sessions
        self._runner = runner
        self._bus = bus
        self._tasks = tasks
        self.keepalive_s = KEEPALIVE_S

    async def target(self, call: HttpCall, model: str, user: str | None) -> Target:
        """Return whom a request means: the model names the agent, header or `user` the session.

        Raises:
            NotFound: There is no such agent.
            InvalidRequest: The session key is malformed, or is another agent's.
        """
        named = agent_of(model, self.agents)
        agent_id = named or self.agents.default().id
        given = call.request.headers.get(SESSION_HEADER)
        if given:
            key = SessionKey.parse(given.strip(), default_agent=agent_id)
            if named is not None and key.agent != named:
                raise InvalidRequest(f"{SESSION_HEADER}: {given[:80]} is a session of {key.agent}, not of {named}")
            return Target(self.agents.get(key.agent).id, str(key))
        if user:
            return Target(agent_id, direct_key(agent_id, user, channel=CHANNEL))
        return Target(agent_id, None)

    def request(self, call: HttpCall, asked: RunQuery) -> RunRequest:
        """Return the run that answers.

        Raises:
            Forbidden: It adds to the system prompt of a conversation that is kept, and is not the owner's.
        """
        run_id = new_id()
        target = asked.target
        request = RunRequest(
            run_id=run_id,
            agent_id=target.agent_id,
            session_key=target.session_key or direct_key(target.agent_id, run_id, channel=CHANNEL),
            message=asked.message,
            context=call.context(),
            thinking=asked.thinking,
            extra_system_prompt=asked.system,
            history=None if target.persistent else asked.history,
            channel=CHANNEL,
        )
        check_extra_prompt(request)
        return request

    def follow(self, request: RunRequest, *, streaming: bool) -> RunStream:
        """Run a request and follow it."""
        return RunStream(self._runner, self._bus, self._tasks, request, streaming=streaming)
