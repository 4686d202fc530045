"""Running commands: their bounded output, and their end; each belongs to one conversation."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hub.core.clock import Clock
from hub.core.errors import HubError, LimitExceeded, NotFound
from hub.core.ids import new_id
from hub.core.tasks import TaskOwner
from hub.sandbox.contract import SandboxProcess

OUTPUT_LIMIT_BYTES = 1024 * 1024
"""Kept of the output of one command: its end."""
RUNNING_PER_SESSION = 10
RUNNING_LIMIT = 50
ENDED_KEPT = 20
ENDED_LIMIT = 100
"""Commands of one conversation, and of all, that have ended and can still be read."""

_log = logging.getLogger(__name__)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Output:
    """The end of a command's output, by positions that count from its beginning."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.begin = 0
        self.end = 0

    def add(self, chunk: bytes) -> None:
        """Append output; the oldest beyond the limit is dropped."""
        self._data += chunk
        self.end += len(chunk)
        if (over := len(self._data) - OUTPUT_LIMIT_BYTES) > 0:
            del self._data[:over]
            self.begin += over

    def text(self, start: int = 0, limit: int | None = None) -> str:
        """Return the output from a position on, as readable text."""
        at = max(start, self.begin) - self.begin
        data = bytes(self._data[at:] if limit is None else self._data[at : at + limit])
        missed = f"[{self.begin - start} bytes before this are not kept]\n" if start < self.begin else ""
        text = _ESCAPES.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
        return missed + _CONTROLS.sub("", text)


def new_short_id() -> str:
    """Return an id that a model or a person can repeat."""
    return new_id()[-8:].lower()


@dataclass(slots=True)
class RunningCommand:
    """A command that was started.

    Attributes:
        id: Short enough for a model to name.
        command: The command as it was written.
        where: sandbox or hub.
        trusted: Whether its output counts as this home's own words.
        reaches_out: Whether it is in a sandbox with a network.
        read_to: How far `poll` has read its output.
    """

    session_key: str
    agent_id: str
    command: str
    where: str
    trusted: bool
    process: SandboxProcess
    terminal: bool
    started: float
    id: str = field(default_factory=new_short_id)
    output: Output = field(default_factory=Output)
    exit_code: int | None = None
    timed_out: bool = False
    read_to: int = 0
    background: bool = False
    reaches_out: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def state(self) -> str:
        """The state in a word or two."""
        if self.exit_code is None:
            return "running"
        return "timed out" if self.timed_out else f"exit {self.exit_code}"


Ended = Callable[[RunningCommand], Awaitable[None]]


class RunningCommands:
    """All commands that run or have ended a while ago.

    Args:
        tasks: Owns the tasks that read their output.
        clock: Measures their time.
    """

    def __init__(self, tasks: TaskOwner, clock: Clock) -> None:
        self._tasks, self._clock = tasks, clock
        self._commands: dict[str, RunningCommand] = {}

    def refuse_more(self, session_key: str) -> None:
        """Refuse when there are too many.

        Raises:
            LimitExceeded: There are.
        """
        running = [each for each in self._commands.values() if each.exit_code is None]
        here = sum(each.session_key == session_key for each in running)
        if here >= RUNNING_PER_SESSION or len(running) >= RUNNING_LIMIT:
            raise LimitExceeded(f"{here} commands of this conversation run already; end some with process kill")

    def watch(self, command: RunningCommand, timeout_s: float, ended: Ended) -> None:
        """Read the output of a started command until it ends, and kill it when its time is up.

        Args:
            ended: Is called once it has ended.
        """
        self._forget_oldest(command.session_key)
        self._commands[command.id] = command
        timer = self._tasks.spawn(self._end_in_time(command, timeout_s), name=f"end command {command.id} in time")
        reader = self._tasks.spawn(self._read(command, ended), name=f"read command {command.id}")
        reader.add_done_callback(lambda _: timer.cancel())

    def of(self, session_key: str) -> list[RunningCommand]:
        """Return the commands of a conversation, oldest first."""
        return [each for each in self._commands.values() if each.session_key == session_key]

    def get(self, session_key: str, id: str) -> RunningCommand:
        """Return a command of a conversation.

        Raises:
            NotFound: It has none of that id.
        """
        found = self._commands.get(id)
        if found is None or found.session_key != session_key:
            raise NotFound(f"this conversation has no command {id[:20]!r}; process list shows those it has")
        return found

    async def forget(self, session_key: str) -> None:
        """End and forget the commands of a conversation."""
        for each in self.of(session_key):
            await each.process.kill()
            self._commands.pop(each.id, None)

    async def close(self) -> None:
        """End all commands."""
        await asyncio.gather(*(each.process.kill() for each in self._commands.values()), return_exceptions=True)
        self._commands.clear()
        await self._tasks.cancel_all()

    async def _read(self, command: RunningCommand, ended: Ended) -> None:
        try:
            async for chunk in command.process.output:
                command.output.add(chunk)
                command.changed.set()
            command.exit_code = await command.process.wait()
        except Exception:  # an engine that fails must not leave a command that never ends
            _log.exception("command %s cannot be read any more and is ended", command.id)
            await command.process.kill()
            command.exit_code = -1
        try:
            await ended(command)
        except HubError as error:
            _log.warning("the end of command %s could not be noted: %s", command.id, error.message)
        command.ended.set()
        command.changed.set()

    async def _end_in_time(self, command: RunningCommand, timeout_s: float) -> None:
        await self._clock.sleep(timeout_s)
        command.timed_out = command.exit_code is None
        await command.process.kill()

    def _forget_oldest(self, session_key: str) -> None:
        done = [each for each in self._commands.values() if each.exit_code is not None]
        here = [each for each in done if each.session_key == session_key]
        for each in {each.id for each in (*done[:-ENDED_LIMIT], *here[:-ENDED_KEPT])}:
            del self._commands[each]
