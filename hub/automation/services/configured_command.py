"""Commands that the owner wrote into the configuration, run as the tool `exec` of the default agent."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from msgspec import Struct

from hub.agent.agents import Agents
from hub.automation.services.tools import ToolFailed, use_tool
from hub.core.context import Context
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.sessions.keys import main_key
from hub.template.contract import is_template
from hub.template.engine import TemplateEngine
from hub.tools.contract import ToolUpdate, no_update
from hub.tools.quoting import unquoted
from hub.tools.registry import ToolRegistry

_MARK = "homarus{}inserted"


class CommandOutcome(Struct, frozen=True):
    """What a command wrote, and its exit code."""

    output: str
    code: int


class ConfiguredCommands:
    """Runs them.

    Args:
        templates: Renders what they say.
        tools, agents: Have the tool and the agent.
        redact: Removes secrets from what commands write.
    """

    def __init__(
        self, templates: TemplateEngine, tools: ToolRegistry, agents: Agents, redact: Callable[[str], str]
    ) -> None:
        self._templates, self._tools, self._agents, self._redact = templates, tools, agents, redact

    async def run(
        self,
        command: str,
        data: Mapping[str, Any],
        context: Context,
        *,
        reads: str | None = None,
        timeout_s: float | None = None,
        update: ToolUpdate = no_update,
    ) -> CommandOutcome:
        """Run a command; what templates insert stays one word, whatever is in it, and no shell reads it.

        Args:
            data: What its templates see.
            reads: A text for its standard input.
            update: Told when the owner is asked.

        Raises:
            HubError: It may not run, or could not be started.
        """
        if is_template(command):
            command = await self._worded(command, data)
        if reads is not None:
            command = f"printf %s {shlex.quote(reads)} | {command}"
        given: dict[str, Any] = {"command": command}
        if timeout_s is not None:
            given["timeout_s"] = ceil(timeout_s)
        agent = self._agents.default()
        # The owner wrote it into the configuration: it runs where a command of theirs does.
        key = main_key(agent.id) if context.authority.owner and not context.authority.tainted else None
        result = await use_tool(
            self._tools, agent, context, "exec", given, redact=self._redact, session_key=key, update=update
        )
        code = result.details.get("exit_code")
        if code is None:
            raise ToolFailed(result.output.removeprefix("error: "), details={"tool": "exec"})
        output = unquoted(result.output).removesuffix(f"[{result.details.get('state')}]").rstrip("\n")
        return CommandOutcome("" if output == "(no output)" else output, code)

    async def _worded(self, command: str, data: Mapping[str, Any]) -> str:
        inserted: list[str] = []

        def mark(text: str) -> str:
            inserted.append(text)
            return _MARK.format(len(inserted) - 1)

        rendered = await self._templates.render_async(command, data, parse_result=False, quote=mark)
        try:
            words = shlex.split(str(rendered))
        except ValueError as error:
            raise InvalidRequest(phrase("the command has a quote that does not end: {text}", text=command)) from error
        for index in range(len(inserted) - 1, -1, -1):
            words = [each.replace(_MARK.format(index), inserted[index]) for each in words]
        return shlex.join(words)
