"""The tools of commands with real programs, a real inbox of approvals, and an owner who answers."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority, Context
from hub.core.errors import Unavailable
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.integration.json_storage import JsonStorage
from hub.sandbox.contract import Sandbox, SandboxCommand
from hub.security.redaction import Redactor
from hub.tools.approval import Approval
from hub.tools.contract import ToolCall, ToolResult
from hub.tools.exec_rules import ExecRules
from integrations.tools.shell.allowed import AllowedCommands
from integrations.tools.shell.binding import PATH
from integrations.tools.shell.elevated import Elevated
from integrations.tools.shell.exec_tool import ExecNeeds, ExecTool, place_of
from integrations.tools.shell.local_process import LocalProcess, start_local
from integrations.tools.shell.log import CommandLog
from integrations.tools.shell.on_node import NodeCommands
from integrations.tools.shell.process_tool import ProcessTool
from integrations.tools.shell.running import RunningCommand, RunningCommands
from integrations.tools.shell.tool import shell_tools
from tests.integrations.tools.standing import MAIN, Standing
from tests.nodes.making import make_nodes
from tests.until import until


class LocalSandbox:
    """A sandbox as far as a tool sees one: it notes what it starts."""

    name, busy = "local", False
    reaches_out = False

    def __init__(self, folder: Path) -> None:
        self.workdir = str(folder)
        self.started: list[SandboxCommand] = []

    async def start(self, command: SandboxCommand) -> LocalProcess:
        self.started.append(command)
        workdir = os.open(command.workdir, os.O_PATH | os.O_DIRECTORY)
        try:
            return await start_local(
                command.argv,
                executable=shutil.which(command.argv[0]) or command.argv[0],
                workdir=workdir,
                keep=(),
                environment={"PATH": PATH, **command.environment},
                terminal=command.pty,
                home="a sandbox",
            )
        finally:
            os.close(workdir)


class ShellBench:
    """The tools, and what the owner is asked."""

    def __init__(self, folder: Path) -> None:
        self.hub = Standing(folder / "home")
        self.workspace = self.hub.workspace
        self.rules = ExecRules()
        self.sandbox: Sandbox | None = None
        self.secrets: dict[str, Secret] = {}
        self.sandboxed: set[str] = set()
        self.told: list[RunningCommand] = []
        self.log = CommandLog(self.hub.db, self.hub.clock.time, Redactor().redact)
        self.allowed = AllowedCommands(JsonStorage(folder / "allowed.json"), self.hub.clock.time)
        self.running = RunningCommands(TaskOwner("shell"), self.hub.clock)
        self.nodes = make_nodes(self.hub.bus, self.hub.clock.time, self.hub.tasks)
        self.tools_section: dict[str, Any] = {"elevated": True}
        self.elevated = Elevated(lambda: self.tools_section, lambda: "en")
        self.hub.commands.add(self.elevated.command())
        needs = ExecNeeds(
            agents=self.hub.agents,
            workspaces=self.hub.workspaces,
            clock=self.hub.clock,
            place=place_of(self._sandbox_of, self._open, self.elevated.of),
            rules=lambda call: self.rules,
            ask=self.hub.approvals.ask,
            writes_inside=lambda call: self.hub.tools.confine(call.agent_id, "", call.context.authority).outside,
            refused=lambda call: (
                "exec.mode: deny" if self.rules.mode == "deny" else self.hub.tools.refusal_reason(call)
            ),
            secrets=lambda call, arguments: self.secrets,
            allowed=self.allowed,
            log=self.log,
            running=self.running,
            models=self.hub.models,
            nodes=NodeCommands(self.nodes, self.log),
            ended=self._ended,
        )
        executing = ExecTool(needs)
        for tool in shell_tools(executing, ProcessTool(self.running, executing.permit_input)):
            self.hub.tools.register(tool)

    async def open(self) -> None:
        await self.hub.db.open()
        await self.hub.approvals.open()
        await self.allowed.open()

    async def close(self) -> None:
        await self.running.close()
        await self.hub.approvals.close()
        await self.hub.db.close()

    async def exec(self, command: str, authority: Authority | None = None, **arguments: Any) -> ToolResult:
        return await self.hub.call("exec", {"command": command, **arguments}, authority=authority)

    async def asked(self, command: str, **arguments: Any) -> tuple[Approval, asyncio.Task[ToolResult]]:
        """Run a command that asks, and return the question."""
        task = asyncio.create_task(self.exec(command, **arguments))
        await until(lambda: task.done() or bool(self.hub.approvals.pending()))
        assert not task.done(), f"{command!r} did not ask: {task.result().output}"
        (approval,) = self.hub.approvals.pending()
        return approval, task

    async def answer(self, approval: Approval, yes: bool, *, always: bool = False) -> None:
        await self.hub.approvals.resolve(approval.id, yes, Context(self.hub.owner), always=always)

    async def _sandbox_of(self, call: ToolCall) -> Sandbox | None:
        authority = call.context.authority
        if authority.owner and not authority.tainted and call.session_key not in self.sandboxed:
            return None
        return await self._open(call)

    async def _open(self, call: ToolCall) -> Sandbox:
        if self.sandbox is None:
            raise Unavailable("this needs a sandbox, and none can be made")
        return self.sandbox

    async def _ended(self, call: ToolCall, command: RunningCommand) -> None:
        self.told.append(command)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ShellBench]:
    """The tools of commands."""
    made = ShellBench(tmp_path)
    await made.open()
    yield made
    await made.close()


__all__ = ["MAIN", "LocalSandbox", "ShellBench", "until"]
