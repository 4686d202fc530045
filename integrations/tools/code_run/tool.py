"""The tool: a program is read from standard input by the sandbox's Python, and ended when it takes too long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.core.context import Authority
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Range, Required, Schema, number, string
from hub.sandbox.contract import Sandbox, SandboxCommand, SandboxProcess
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

CODE_LIMIT = 200_000
OUTPUT_LIMIT_BYTES = 200_000
TIME_S, TIME_LIMIT_S = 30.0, 300.0
PYTHON = ("python3", "-I", "-u", "-")
PARAMETERS = Schema(
    {
        Required("code", description="Python; print what you want to see."): All(string, Length(min=1, max=CODE_LIMIT)),
        Optional("timeout_s", default=TIME_S): All(number, Range(min=1, max=TIME_LIMIT_S)),
    }
)

Open = Callable[[ToolCall], Awaitable[Sandbox]]


def code_run_tool(open_sandbox: Open, agents: Agents) -> Tool:
    """Return the tool.

    Args:
        open_sandbox: Returns the sandbox of a call's conversation.
        agents: Their settings decide whether a sandbox has a network.
    """

    async def run(call: ToolCall) -> ToolResult:
        sandbox = await open_sandbox(call)
        process = await sandbox.start(SandboxCommand(PYTHON, sandbox.workdir))
        try:
            said, ended = await _finish(process, call.arguments["code"], call.arguments["timeout_s"])
            code = await process.wait()
        finally:
            await process.kill()
        text = said.decode("utf-8", "replace")
        if not ended:
            bounds = f"over {call.arguments['timeout_s']:g} s, or wrote over {OUTPUT_LIMIT_BYTES} bytes"
            text = f"[ended: it took {bounds}]\n{text}"
        elif code:
            text += f"\n[exit code {code}]"
        # Others may have written what it reads in the sandbox.
        return ToolResult(text or "[no output]", details={"exit_code": code}, is_error=bool(code), trusted=False)

    def approval(arguments: Mapping[str, Any], authority: Authority) -> str | None:
        reaches_out = any(
            engine.get("network", "none") != "none" for each in agents.all() for engine in each.sandbox.engines.values()
        )
        if reaches_out and (authority.tainted or not authority.owner):
            return phrase("a sandbox here has a network, and code could carry things out of this home")
        return None

    return Tool(
        "code_run",
        "Run Python in a sandbox without a network; files are in /workspace.",
        from_schema(PARAMETERS),
        run,
        "shell",
        Annotations(destructive=False, open_world=False, owner_only=False, egress=True),
        approval,
        timeout_s=TIME_LIMIT_S + 30,
    )


async def _finish(process: SandboxProcess, code: str, timeout_s: float) -> tuple[bytes, bool]:
    """Return a program's output, and whether it ended by itself within its limits."""
    said = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            await process.stdin.write(code.encode())
            await process.stdin.close()
            async for chunk in process.output:
                said += chunk
                if len(said) > OUTPUT_LIMIT_BYTES:
                    break
            else:
                return bytes(said), True
    except TimeoutError:
        pass
    await process.kill()
    return bytes(said[:OUTPUT_LIMIT_BYTES]), False
