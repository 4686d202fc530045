"""Slash commands: what a message that begins with `/` does instead of going to a model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from msgspec import Struct

from hub.agent.agents import Agents
from hub.agent.lift_taint import lift_taint
from hub.agent.runner import AgentRunner
from hub.agent.taint import LiftScope
from hub.core.context import Context
from hub.core.errors import HubError
from hub.messaging.contract import InboundMessage
from hub.messaging.texts import say
from hub.models.registry import ModelRegistry
from hub.security.people import People
from hub.sessions.store import SessionStore

_COMMAND = re.compile(r"^/([a-z][a-z_]{0,31})(?:@\S+)?(?:\s+(.*))?$", re.DOTALL)


class CommandCall(Struct, frozen=True):
    """One command as written."""

    name: str
    arguments: str
    message: InboundMessage
    agent_id: str
    session_key: str
    context: Context


class ChatCommand(Struct, frozen=True):
    """A command; its line of help is the sentence `help.<name>` or `help`.

    Attributes:
        name: Without the slash.
        run: Does it and returns the answer.
        owner_only: Whether it takes an owner.
        aliases: Other names.
        help: Line of help of commands that integrations bring.
    """

    name: str
    run: Callable[[CommandCall], Awaitable[str]]
    owner_only: bool = False
    aliases: tuple[str, ...] = ()
    help: str | None = None


def parse_command(text: str) -> tuple[str, str] | None:
    """Return name and arguments when `text` is a command, known or not; else None.

    A path such as `/etc/hosts` is not one.
    """
    match = _COMMAND.match(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


class Commands:
    """The registry of commands."""

    def __init__(self, language: Callable[[], str]) -> None:
        self._language = language
        self._commands: dict[str, ChatCommand] = {}
        self._names: dict[str, str] = {}
        self.add(ChatCommand("help", self._help, aliases=("commands", "start")))

    def add(self, command: ChatCommand) -> Callable[[], None]:
        """Add a command; returns a function that removes it."""
        self._commands[command.name] = command
        names = (command.name, *command.aliases)
        self._names.update(dict.fromkeys(names, command.name))

        def remove() -> None:
            if self._commands.get(command.name) is command:
                del self._commands[command.name]
                for name in names:
                    self._names.pop(name, None)

        return remove

    def all(self) -> list[ChatCommand]:
        """Return all commands by name."""
        return [self._commands[name] for name in sorted(self._commands)]

    async def run(self, call: CommandCall) -> str:
        """Do what the command says and return the answer; errors are answers too."""
        language = self._language()
        command = self._commands.get(self._names.get(call.name, ""))
        shown = f"/{call.name}"
        if command is None:
            return say("command.unknown", language, name=shown)
        if command.owner_only and not call.context.authority.owner:
            return say("command.refused", language, name=shown)
        try:
            return await command.run(call)
        except HubError as error:
            return say("command.failed", language, name=shown, error=error.message)

    async def _help(self, call: CommandCall) -> str:
        language = self._language()
        shown = [
            f"/{command.name}: {command.help or say(f'help.{command.name}', language)}"
            for command in self.all()
            if call.context.authority.owner or not command.owner_only
        ]
        return "\n".join([say("help.title", language), *shown])


def add_session_commands(
    commands: Commands,
    sessions: SessionStore,
    runner: AgentRunner,
    models: ModelRegistry,
    people: Callable[[], People],
    language: Callable[[], str],
    agents: Agents,
) -> None:
    """Add the commands about the conversation one is in: /new, /stop, /status, /model, /whoami, /trust."""

    async def new(call: CommandCall) -> str:
        runner.abort(session_key=call.session_key)
        if sessions.get(call.session_key) is not None:
            await sessions.reset(call.session_key)
        return say("new.done", language())

    async def stop(call: CommandCall) -> str:
        stopped = runner.abort(session_key=call.session_key)
        return say("stop.done" if stopped else "stop.nothing", language())

    async def status(call: CommandCall) -> str:
        session = await sessions.ensure(call.session_key)
        resolved = await models.resolve(session.model or agents.get(call.agent_id).model)
        return say(
            "status.lines",
            language(),
            agent=call.agent_id,
            session=call.session_key,
            model=resolved.ref,
            tokens=session.usage.total_tokens,
        )

    async def model(call: CommandCall) -> str:
        wanted = call.arguments
        if not wanted:
            session = await sessions.ensure(call.session_key)
            current = await models.resolve(session.model or agents.get(call.agent_id).model)
            return say("model.current", language(), model=current.ref)
        resolved = await models.resolve(wanted)
        await sessions.ensure(call.session_key)
        await sessions.patch(call.session_key, model=None if wanted == "auto" else wanted)
        return say("model.set", language(), model=resolved.ref)

    async def whoami(call: CommandCall) -> str:
        authority = call.context.authority
        person = people().by_id(authority.person) if authority.person else None
        if person is None:
            return say("whoami.unknown", language(), identity=call.message.sender)
        return say("whoami.known", language(), name=person.name, identity=call.message.sender)

    async def trust(call: CommandCall) -> str:
        scope = LiftScope.SESSION if call.arguments == LiftScope.SESSION else LiftScope.TURN
        await lift_taint(sessions, runner, call.session_key, scope, call.context)
        return say(f"trust.{scope}", language())

    commands.add(ChatCommand("new", new, aliases=("reset",)))
    commands.add(ChatCommand("trust", trust, owner_only=True))
    commands.add(ChatCommand("stop", stop, aliases=("abort",)))
    commands.add(ChatCommand("status", status))
    commands.add(ChatCommand("model", model, owner_only=True))
    commands.add(ChatCommand("whoami", whoami))
