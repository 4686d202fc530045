"""A conversation with a program: begun or resumed, then one prompt after the other.

Format: https://agentclientprotocol.com/protocol/v1/session-setup
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path
from typing import Any

from hub import __version__
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.tasks import TaskOwner
from hub.models.contract import ModelEvent, StopEvent, ThinkingDelta
from hub.tools.approval import ApprovalDecision, Ask, AskOwner
from integrations.models.acp.agent_program import AcpError, AgentProgram
from integrations.models.acp.process import AcpProcess
from integrations.models.acp.updates import Updates, prompt_of, stop_of, title_of
from integrations.models.acp.who_may import ALLOW_ONCE, OwnersWords, option_of, outcome

PROTOCOL_VERSION = 1
START_S = 60.0
"""For each step until a program is ready."""
QUESTION_S = 3_600.0
"""No answer in that time means no; the limit of the run is often shorter."""


class AcpSession:
    """One conversation, in a process of its own.

    Attributes:
        id: The id as the program names it.
        is_fresh: Whether it knows nothing of the earlier conversation.
    """

    def __init__(self, program: AgentProgram, process: AcpProcess, capabilities: Mapping[str, Any]) -> None:
        self.id = ""
        self.is_fresh = False
        self._program = program
        self._process = process
        self._capabilities = capabilities

    @classmethod
    async def open(cls, program: AgentProgram, own: Iterable[Path], tasks: TaskOwner, known: str | None) -> AcpSession:
        """Start a program and begin a conversation, or resume the one that it knows as `known`.

        Raises:
            AcpError: It cannot be started, speaks another version, is not signed in, or failed.
        """
        process = await AcpProcess.start(program, own, tasks)
        try:
            session = cls(program, process, await _initialized(program, process))
            await session._begin(str(program.check_folder(own)), known)
        except BaseException:
            await process.stop()
            raise
        return session

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        return self._process.alive

    async def stop(self) -> None:
        """End the program."""
        await self._process.stop()

    async def prompt(self, said: OwnersWords, ask: AskOwner) -> AsyncGenerator[ModelEvent, None]:
        """Let the program answer; its requests for permission are put to the owner.

        Raises:
            AcpError: It failed.
        """
        process, silence_s = self._process, self._program.silence_s
        shows = self._capabilities.get("promptCapabilities")
        images = isinstance(shows, Mapping) and shows.get("image") is True
        params = {"sessionId": self.id, "prompt": prompt_of(said.message, images=images)}
        updates = Updates(self._program.name)
        async with contextlib.aclosing(process.request("session/prompt", params, silence_s)) as messages:
            async for message in messages:
                match message.get("method"):
                    case None:
                        yield StopEvent(stop_of(message))
                    case "session/update":
                        if (event := updates.event(message.get("params"))) is not None:
                            yield event
                    case "session/request_permission" if "id" in message:
                        async for event in self._permit(message, updates, said, ask):
                            yield event
                    case _:
                        await process.refuse(message, silence_s)

    # -- below ------------------------------------------------------------------------------------------------------

    async def _begin(self, folder: str, known: str | None) -> None:
        place: dict[str, Any] = {"cwd": folder, "mcpServers": []}
        if known is not None and self._capabilities.get("loadSession") is True:
            with contextlib.suppress(AcpError):
                await self._process.ask("session/load", {"sessionId": known, **place}, START_S)
                self.id = known
                return
        begun = await self._process.ask("session/new", place, START_S)
        id = begun.get("sessionId")
        if not isinstance(id, str) or not id:
            raise AcpError(f"{self._program.name} began a conversation without an id; it may speak another version.")
        self.id, self.is_fresh = id, True

    async def _permit(
        self, message: Mapping[str, Any], updates: Updates, said: OwnersWords, ask: AskOwner
    ) -> AsyncGenerator[ModelEvent, None]:
        params = message.get("params")
        params = params if isinstance(params, Mapping) else {}
        call, options = params.get("toolCall"), params.get("options")
        call = updates.call(call) if isinstance(call, Mapping) else {}
        options = options if isinstance(options, list) else ()
        title = title_of(call)
        approved, why = False, "it cannot be allowed only once"
        if option_of(options, ALLOW_ONCE) is not None:
            yield ThinkingDelta(f"\n[waits for your approval: {title}]\n")
            question = Ask(
                kind="exec",
                title=f"{self._program.name}: {title}",
                text=phrase(
                    "The program {program} wants to do this in {folder}, outside the hub.",
                    program=self._program.name,
                    folder=str(self._program.folder),
                ),
                details={"program": self._program.name, "folder": str(self._program.folder), "call": dict(call)},
                context=said.context.child(),
                session_key=said.session_key,
                run_id=said.run_id,
                timeout_s=QUESTION_S,
            )
            try:
                decision = await self._answered(ask, question)
                approved, why = decision.approved, decision.reason or "the owner said no"
            except AcpError:
                raise
            except HubError as error:  # too large to be shown, or too much waits
                why = error.message
        if not approved:
            yield ThinkingDelta(f"\n[not allowed: {why}]\n")
        await self._process.answer(message, outcome(options, approved=approved), self._program.silence_s)

    async def _answered(self, ask: AskOwner, question: Ask) -> ApprovalDecision:
        """Ask the owner; the question is withdrawn when the program ends meanwhile."""
        asking = asyncio.ensure_future(_asked(ask, question))
        ended = asyncio.ensure_future(self._process.wait_ended())
        try:
            await asyncio.wait({asking, ended}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            raise await self._process.failure()
        finally:
            asking.cancel()
            ended.cancel()
            await asyncio.wait({asking, ended})


async def _asked(ask: AskOwner, question: Ask) -> ApprovalDecision:
    return await ask(question)


async def _initialized(program: AgentProgram, process: AcpProcess) -> Mapping[str, Any]:
    """Agree on the version and sign in; return what the program can do. Neither files nor terminals are offered."""
    offered = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "homarus", "title": "Homarus", "version": __version__},
    }
    told = await process.ask("initialize", offered, START_S)
    version = told.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        raise AcpError(
            f"{program.name} speaks version {version!r} of the Agent Client Protocol, the hub speaks "
            f"{PROTOCOL_VERSION}; install a version of {program.key}.command that speaks it too."[:400]
        )
    if program.auth_method is not None:
        methods = told.get("authMethods")
        ids = [each.get("id") for each in methods if isinstance(each, Mapping)] if isinstance(methods, list) else []
        if program.auth_method not in ids:
            raise AcpError(
                f"{program.key}.auth_method: {program.name} does not offer {program.auth_method}; it offers "
                f"{', '.join(map(str, ids)) or 'none'}."[:400]
            )
        await process.ask("authenticate", {"methodId": program.auth_method}, START_S)
    capabilities = told.get("agentCapabilities")
    return capabilities if isinstance(capabilities, Mapping) else {}
