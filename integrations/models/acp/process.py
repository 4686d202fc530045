"""A program that runs: JSON-RPC 2.0 over its standard streams, one message a line.

Format: https://agentclientprotocol.com/protocol/v1/transports
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from hub.core.tasks import TaskOwner
from hub.tools.approval import visible_line
from integrations.models.acp.agent_program import AcpError, AgentProgram

LINE_LIMIT_BYTES = 8 * 1024 * 1024
ERRORS_KEPT_BYTES = 2_000
STOP_S = 2.0
"""Between asking a program to end and ending it."""
SHOWN_CHARS = 200
NOT_FOUND = -32601
AUTH_REQUIRED = -32000


class AcpProcess:
    """One process, with all that it starts."""

    def __init__(self, program: AgentProgram, process: asyncio.subprocess.Process, tasks: TaskOwner) -> None:
        self._program = program
        self._process = process
        self._last_id = 0
        self._errors = b""
        self._draining = tasks.spawn(self._drain(), name=f"read the errors of {program.name}")

    @classmethod
    async def start(cls, program: AgentProgram, own: Iterable[Path], tasks: TaskOwner) -> AcpProcess:
        """Start a program in a process group of its own.

        Args:
            own: The hub's folders, which it is not started in.
            tasks: Owns the reading of its standard error.

        Raises:
            AcpError: It cannot be started.
        """
        executable, folder = program.executable(), program.check_folder(own)
        try:
            process = await asyncio.create_subprocess_exec(
                *(executable, *program.command[1:]),
                cwd=folder,
                env=program.variables(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=LINE_LIMIT_BYTES,
            )
        except (OSError, ValueError) as error:
            raise AcpError(f"{program.key}.command: {executable} cannot be started: {error}") from error
        return cls(program, process, tasks)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.returncode is None

    async def request(
        self, method: str, params: Mapping[str, Any], silence_s: float
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Send a request and yield what the program sends until it has answered; the result comes last.

        Raises:
            AcpError: It refused, ended, said nothing for `silence_s` seconds, or what is not of the protocol.
        """
        self._last_id += 1
        await self._send({"id": self._last_id, "method": method, "params": params}, silence_s)
        while True:
            message = await self._receive(silence_s)
            if "method" in message:
                yield message
            elif message.get("id") == self._last_id:
                yield self._result(method, message)
                return

    async def ask(self, method: str, params: Mapping[str, Any], silence_s: float) -> Mapping[str, Any]:
        """Send a request and return its result; the program's own requests are refused meanwhile.

        Raises:
            AcpError: See `request`.
        """
        result: Mapping[str, Any] = {}
        async with contextlib.aclosing(self.request(method, params, silence_s)) as messages:
            async for result in messages:
                if "method" in result:
                    await self.refuse(result, silence_s)
        return result

    async def answer(self, message: Mapping[str, Any], result: Mapping[str, Any], silence_s: float) -> None:
        """Answer a request of the program."""
        await self._send({"id": message.get("id"), "result": result}, silence_s)

    async def refuse(self, message: Mapping[str, Any], silence_s: float) -> None:
        """Answer a request that the hub does not offer; a notification has no answer."""
        if "id" in message:
            error = {"code": NOT_FOUND, "message": "this client does not offer that"}
            await self._send({"id": message["id"], "error": error}, silence_s)

    async def wait_ended(self) -> None:
        """Return when it has ended."""
        await self._process.wait()

    async def failure(self) -> AcpError:
        """Return why it ended by itself, with the end of what it wrote to its standard error."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self._process.wait()
        code = self._process.returncode
        await self.stop()
        said = visible_line(self._errors.decode("utf-8", "replace"))
        how = f"ended by itself (exit code {code})" if code is not None else "closed its standard output"
        return AcpError(f"{self._program.name} ({self._program.key}) {how}{f': {said}' if said else '.'}")

    async def stop(self) -> None:
        """End it with all it started; cancelling this ends it at once."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            if self.alive:
                self._signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(STOP_S):
                        await self._process.wait()
        finally:
            self._signal(signal.SIGKILL)
        await self._process.wait()
        await asyncio.wait({self._draining}, timeout=STOP_S)
        self._draining.cancel()

    # -- below ------------------------------------------------------------------------------------------------------

    def _result(self, method: str, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if "error" not in message:
            result = message.get("result")
            return result if isinstance(result, Mapping) else {}
        error = message["error"] if isinstance(message["error"], Mapping) else {}
        why = _shown(str(error.get("message", "")))
        name, key = self._program.name, self._program.key
        if error.get("code") == AUTH_REQUIRED:
            raise AcpError(
                f"{name} is not signed in ({why}): sign in with the program itself, as the user that the hub runs as, "
                f"or set {key}.auth_method and {key}.environment."
            )
        raise AcpError(f"{name} refused {method}: {why or 'without a reason'}")

    async def _send(self, message: Mapping[str, Any], silence_s: float) -> None:
        stdin = self._process.stdin
        if stdin is None:
            raise AssertionError("started with one")
        try:
            async with asyncio.timeout(silence_s):
                stdin.write(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")
                await stdin.drain()
        except TimeoutError as error:
            raise self._silent(silence_s) from error
        except OSError as error:
            raise await self.failure() from error

    async def _receive(self, silence_s: float) -> dict[str, Any]:
        stdout = self._process.stdout
        if stdout is None:
            raise AssertionError("started with one")
        try:
            async with asyncio.timeout(silence_s):
                while (line := await stdout.readline()).isspace():
                    continue
        except TimeoutError as error:
            raise self._silent(silence_s) from error
        except ValueError as error:
            raise AcpError(f"{self._program.name} wrote a line of over {LINE_LIMIT_BYTES} bytes.") from error
        if not line:
            raise await self.failure()
        try:
            message = orjson.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise AcpError(
                f"{self._program.name} wrote what is not a message of the Agent Client Protocol: "
                f"{_shown(line.decode('utf-8', 'replace'))!r}. {self._program.key}.command must name a program that "
                "speaks it on its standard output."
            )
        return message

    def _silent(self, silence_s: float) -> AcpError:
        key = self._program.key
        return AcpError(f"{self._program.name} said nothing for {silence_s:g} s and was stopped ({key}.timeout_s).")

    async def _drain(self) -> None:
        """Keep the end of what it writes to its standard error."""
        stderr = self._process.stderr
        while stderr is not None and (chunk := await stderr.read(65_536)):
            self._errors = (self._errors + chunk)[-ERRORS_KEPT_BYTES:]

    def _signal(self, what: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, what)


def _shown(text: str) -> str:
    return visible_line(text[: SHOWN_CHARS * 4])[:SHOWN_CHARS]
