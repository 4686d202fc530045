"""The registry of slash commands: the actions of messages that begin with `/`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.surface_group import SurfaceGroup
from hub.core.surface_table import of_row, read_table
from hub.messaging.contract import ChatType, InboundMessage
from hub.messaging.texts import FALLBACK, say
from hub.tools.policy import belongs_here

_COMMAND = re.compile(r"^/([a-z][a-z0-9_]{0,31})(?:@\S+)?(?:\s+(.*))?$", re.DOTALL)


class CommandCall(Struct, frozen=True):
    """One command as written.

    Attributes:
        by_owner: Whether its sender is an owner; in a room, where owners have no rights, still.
        more: Further commands of the same message, name and arguments.
    """

    name: str
    arguments: str
    message: InboundMessage
    agent_id: str
    session_key: str
    context: Context
    by_owner: bool = False
    more: tuple[tuple[str, str], ...] = ()

    @property
    def word(self) -> str:
        """The first word of the arguments, in lower case."""
        return next(iter(self.arguments.split(None, 1)), "").lower()

    @property
    def rest(self) -> str:
        """The arguments after the first word."""
        return "".join(self.arguments.split(None, 1)[1:])


class CommandReply(Struct, frozen=True):
    """The reply of a command.

    Attributes:
        text: For the sender.
        menu: Commands to choose from: label, and the command as it is written.
        message: A message to pass on to the agent in the sender's name.
        by_hub: Whether its words are the hub's own.
    """

    text: str
    menu: tuple[tuple[str, str], ...] = ()
    message: str | None = None
    by_hub: bool = False

    def as_text(self) -> str:
        """Return the text with the menu as a list, for channels without buttons."""
        return "\n".join([self.text, *(f"{number}. {command}" for number, (_, command) in enumerate(self.menu, 1))])


class Category(StrEnum):
    """The groups in which commands are listed."""

    SESSION = "session"
    OPTIONS = "options"
    STATUS = "status"
    TOOLS = "tools"
    SKILLS = "skills"
    MANAGEMENT = "management"


class CommandPlace(StrEnum):
    """The conversations in which a command is available."""

    ANYWHERE = "anywhere"
    DIRECT = "direct"
    GROUP = "group"


class ChatCommand(Struct, frozen=True):
    """A command; its one-line description is the sentence `help.<name>` or `help`.

    Attributes:
        name: Without the slash.
        run: Does it and returns the answer.
        owner_only: Whether it takes an owner.
        in_rooms: Whether an owner may use it in a room too, where owners have no rights.
        people_only: Whether it takes somebody of this home.
        aliases: Other names.
        arguments: Its arguments, such as `[MODEL] [MESSAGE]`; made of the choices by default.
        choices: The choices for its first argument.
        accepted: Further accepted values.
        required: Whether it needs an argument: without one, it answers with its choices.
        listed: Whether it is in lists of commands.
        help: Line of help of a command that an integration brings, by language or the same in all.
    """

    name: str
    run: Callable[[CommandCall], Awaitable[str | CommandReply]]
    category: Category = Category.TOOLS
    owner_only: bool = False
    in_rooms: bool = False
    people_only: bool = False
    where: CommandPlace = CommandPlace.ANYWHERE
    aliases: tuple[str, ...] = ()
    arguments: str = ""
    choices: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    required: bool = False
    listed: bool = True
    help: str | Mapping[str, str] = ""

    @property
    def usage(self) -> str:
        """The command's syntax."""
        arguments = self.arguments or "|".join(self.choices)
        if not arguments:
            return f"/{self.name}"
        return f"/{self.name} {arguments}" if self.required or self.arguments else f"/{self.name} [{arguments}]"

    def about(self, language: str) -> str:
        """Return its one-line description."""
        if isinstance(self.help, str):
            return self.help or say(f"help.{self.name}", language)
        return self.help.get(language) or self.help[FALLBACK]

    def menu(self) -> tuple[tuple[str, str], ...]:
        """Return its choices as commands."""
        return tuple((choice, f"/{self.name} {choice}") for choice in self.choices)


def parse_command(text: str) -> tuple[str, str] | None:
    """Return name and arguments when `text` is a command, known or not; else None.

    A path such as `/etc/hosts` is not one.
    """
    match = _COMMAND.match(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


class Commands:
    """All commands, in chat, on the dashboard and on the command line."""

    def __init__(self, language: Callable[[], str]) -> None:
        self.language = language
        self._commands: dict[str, ChatCommand] = {}
        self._names: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []
        self._table = read_table()["commands"]
        self.groups: dict[str, SurfaceGroup[ChatCommand]] = {}
        self.add(ChatCommand("help", self._help, Category.STATUS, aliases=("commands", "start"), arguments="[COMMAND]"))

    def add(self, *commands: ChatCommand) -> Callable[[], None]:
        """Add commands; returns a function that removes them."""
        for command in commands:
            self._commands[command.name] = command
            self._names.update(dict.fromkeys((command.name, *command.aliases), command.name))
        self._tell()

        def remove() -> None:
            for command in commands:
                if self._commands.get(command.name) is command:
                    del self._commands[command.name]
                    for name in (command.name, *command.aliases):
                        self._names.pop(name, None)
            self._tell()

        return remove

    def add_group(self, name: str, fill: Callable[[Commands], None]) -> None:
        """Add commands as the table of surfaces has them; they are imported with the first use of one of their group.

        A group that the table does not have is imported at once.

        Args:
            name: The name of the group in the table.
            fill: Imports the commands and adds them to a registry; called in a thread, it does nothing else.
        """

        def load() -> list[ChatCommand]:
            found = Commands(self.language)
            fill(found)
            return [command for command in found.all() if command.name != "help"]

        group = self.groups[name] = SurfaceGroup(name, self._table.get(name, ()), load)
        self.add(*(of_row(ChatCommand, row, run=_first_use(group, str(row["name"]))) for row in group.rows))
        if name not in self._table:
            self.add(*load())

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever the set of commands changes; returns a function that stops that."""
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def all(self) -> list[ChatCommand]:
        """Return all commands by category, then by name."""
        order = list(Category)
        return sorted(self._commands.values(), key=lambda command: (order.index(command.category), command.name))

    def get(self, name: str) -> ChatCommand | None:
        """Return a command by any of its names."""
        return self._commands.get(self._names.get(name, ""))

    async def run(self, call: CommandCall) -> CommandReply:
        """Run the command and those in `call.more`, and return the reply; errors are replies too."""
        replies = [await self._run(call)]
        for name, arguments in call.more:
            replies.append(await self._run(replace(call, name=name, arguments=arguments)))
        return replace(replies[-1], text="\n\n".join(reply.text for reply in replies))

    async def _run(self, call: CommandCall) -> CommandReply:
        language = self.language()
        command = self.get(call.name)
        if command is None:
            return CommandReply(self._unknown(call.name))
        if (refusal := _refusal(command, call)) is not None:
            return CommandReply(say(f"command.{refusal}", language, name=f"/{call.name}"))
        if command.required and not call.arguments:
            return CommandReply(say("command.choose", language, usage=command.usage), command.menu())
        if call.word and command.choices and call.word not in (*command.choices, *command.accepted):
            given = say("command.argument", language, name=f"/{call.name}", given=call.word, usage=command.usage)
            return CommandReply(given, command.menu())
        try:
            reply = await command.run(call)
        except HubError as error:
            return CommandReply(say("command.failed", language, name=f"/{call.name}", error=error.message))
        return CommandReply(reply) if isinstance(reply, str) else reply

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._names, n=1)
        if near:
            return say("command.near", self.language(), name=f"/{name}", near=f"/{near[0]}")
        return say("command.unknown", self.language(), name=f"/{name}")

    async def _help(self, call: CommandCall) -> str:
        language = self.language()
        if call.word:
            command = self.get(call.word.removeprefix("/"))
            if command is None:
                return self._unknown(call.word.removeprefix("/"))
            also = ", ".join(f"/{alias}" for alias in command.aliases)
            lines = [f"{command.usage}: {command.about(language)}"]
            return "\n".join([*lines, say("help.aliases", language, names=also)] if also else lines)
        lines = [say("help.title", language)]
        category = None
        for command in self.all():
            if not command.listed or _refusal(command, call) is not None:
                continue
            if command.category is not category:
                category = command.category
                lines += ["", say(f"category.{category}", language)]
            lines.append(f"/{command.name}: {command.about(language)}")
        return "\n".join(lines)

    def _tell(self) -> None:
        for changed in tuple(self._listeners):
            changed()


def _first_use(group: SurfaceGroup[ChatCommand], name: str) -> Callable[[CommandCall], Awaitable[str | CommandReply]]:
    async def run(call: CommandCall) -> str | CommandReply:
        return await (await group.get())[name].run(call)

    return run


def _refusal(command: ChatCommand, call: CommandCall) -> str | None:
    """Return the reason why this sender cannot use a command here, or None."""
    is_direct = call.message.address.chat_type is ChatType.DIRECT
    if command.owner_only and not (call.by_owner if command.in_rooms else call.context.authority.owner):
        return "refused"
    if command.people_only and not belongs_here(call.context.authority):
        return "people"
    if command.where is CommandPlace.DIRECT and not is_direct:
        return "direct"
    if command.where is CommandPlace.GROUP and is_direct:
        return "group"
    return None
