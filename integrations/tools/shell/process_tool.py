"""The tool `process`: manages the commands that a conversation left in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from hub.core.errors import Conflict, InvalidRequest
from hub.tools.command_line import refuse_invisible
from hub.tools.contract import ToolCall, ToolResult
from integrations.tools.shell.running import RunningCommand, RunningCommands

LOG_BYTES = 20_000
WAIT_LIMIT_S = 60
ENDED_WAIT_S = 5.0

PermitInput = Callable[[ToolCall, RunningCommand, str], Awaitable[None]]

KEYS: Mapping[str, bytes] = {
    "enter": b"\r",
    "tab": b"\t",
    "escape": b"\x1b",
    "space": b" ",
    "backspace": b"\x7f",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "page_up": b"\x1b[5~",
    "page_down": b"\x1b[6~",
    "delete": b"\x1b[3~",
    **{f"ctrl-{letter}": bytes([ord(letter) - 96]) for letter in "abcdefghijklmnopqrstuvwxyz"},
}
"""What a terminal sends for a key."""


class ProcessTool:
    """Lists, reads, writes to and ends commands, each conversation its own.

    Args:
        permit_input: Lets a call write to a command, or raises.
    """

    def __init__(self, running: RunningCommands, permit_input: PermitInput) -> None:
        self._running, self._permit_input = running, permit_input
        self._actions: Mapping[str, Callable[[ToolCall, RunningCommand], Awaitable[ToolResult]]] = {
            "poll": self._poll,
            "log": self._log,
            "write": self._write,
            "send_keys": self._send_keys,
            "kill": self._kill,
        }

    async def run(self, call: ToolCall) -> ToolResult:
        """Carry out the call; see the tool's parameters.

        Raises:
            InvalidRequest: An argument is missing.
            NotFound: The conversation has no such command.
            Conflict: The command has ended, or has no terminal.
            Forbidden: Nothing may be written to it.
        """
        action = call.arguments["action"]
        if action == "list":
            return self._list(call)
        if "id" not in call.arguments:
            raise InvalidRequest(f"id: {action} needs the id of a command; list shows them")
        return await self._actions[action](call, self._running.get(call.session_key, call.arguments["id"]))

    def _list(self, call: ToolCall) -> ToolResult:
        commands = self._running.of(call.session_key)
        lines = [f"{each.id}  {each.state}  {each.where}  {' '.join(each.command.split())[:100]}" for each in commands]
        shown = [{"id": each.id, "state": each.state, "command": each.command} for each in commands]
        return ToolResult("\n".join(lines) or "no commands", {"commands": shown})

    async def _poll(self, call: ToolCall, command: RunningCommand) -> ToolResult:
        """Return new output, after waiting for it as long as requested."""
        if command.output.end == command.read_to and command.exit_code is None and call.arguments["wait_s"]:
            command.changed.clear()
            try:
                async with asyncio.timeout(call.arguments["wait_s"]):
                    await command.changed.wait()
            except TimeoutError:
                pass
        start, command.read_to = command.read_to, command.output.end
        return _told(command, command.output.text(start))

    async def _log(self, call: ToolCall, command: RunningCommand) -> ToolResult:
        offset = call.arguments.get("offset", max(0, command.output.end - LOG_BYTES))
        text = command.output.text(offset, LOG_BYTES)
        more = command.output.end - offset - LOG_BYTES
        return _told(
            command, text + (f"\n[{more} bytes follow; offset {offset + LOG_BYTES} reads on]" if more > 0 else "")
        )

    async def _write(self, call: ToolCall, command: RunningCommand) -> ToolResult:
        _refuse_ended(command)
        data = call.arguments.get("data", "")
        if not data and not call.arguments["eof"]:
            raise InvalidRequest("data: there is nothing to write; give data, or eof to end its input")
        refuse_invisible("data", data)
        await self._permit_input(call, command, data)
        _refuse_ended(command)
        await command.process.stdin.write(data.encode())
        if call.arguments["eof"]:
            await command.process.stdin.close()
        return _told(command, "written")

    async def _send_keys(self, call: ToolCall, command: RunningCommand) -> ToolResult:
        _refuse_ended(command)
        if not command.terminal:
            raise Conflict(f"command {command.id} has no terminal; start it with pty, or use write")
        keys = call.arguments.get("keys", [])
        unknown = [each for each in keys if each not in KEYS and len(each) != 1]
        if unknown or not keys:
            known = ", ".join(sorted(each for each in KEYS if not each.startswith("ctrl-")))
            raise InvalidRequest(f"keys: expected single characters, ctrl-a to ctrl-z, or {known}")
        refuse_invisible("keys", "".join(keys))
        await self._permit_input(call, command, " ".join(keys))
        _refuse_ended(command)
        await command.process.stdin.write(b"".join(KEYS.get(each) or each.encode() for each in keys))
        return _told(command, "sent")

    async def _kill(self, call: ToolCall, command: RunningCommand) -> ToolResult:
        await command.process.kill()
        try:
            async with asyncio.timeout(ENDED_WAIT_S):
                await command.ended.wait()
        except TimeoutError:
            pass
        return _told(command, "ended")


def _refuse_ended(command: RunningCommand) -> None:
    if command.exit_code is not None:
        raise Conflict(f"command {command.id} has ended ({command.state})")


def _told(command: RunningCommand, text: str) -> ToolResult:
    details = {"id": command.id, "state": command.state, "exit_code": command.exit_code}
    return ToolResult(f"{text.rstrip()}\n[{command.state}]".lstrip(), details, trusted=command.trusted)
