"""The services `shell_command.<name>` and `rest_command.<name>`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.agent.agents import Agents
from hub.automation.services.configured_command import ConfiguredCommands
from hub.automation.services.configured_request import send_request
from hub.core.events import Unsubscribe
from hub.core.schema import ALLOW_EXTRA, Schema
from hub.core.secret import Secret
from hub.core.services import AgentRule, ResponseMode, ServiceCall, ServiceRegistry
from hub.security.egress import Egress
from hub.template.engine import TemplateEngine
from hub.tools.registry import ToolRegistry

_ANYTHING = Schema({}, extra=ALLOW_EXTRA)


class CommandServices:
    """The services of both sections.

    Args:
        services: Registers them.
        templates: Renders what they say.
        tools, agents: Run commands, as the tool `exec` of the default agent.
        egress: Sends requests.
        redact: Removes secrets from what commands write.
    """

    def __init__(
        self,
        services: ServiceRegistry,
        templates: TemplateEngine,
        tools: ToolRegistry,
        agents: Agents,
        egress: Egress,
        redact: Callable[[str], str],
    ) -> None:
        self._services, self._templates, self._egress = services, templates, egress
        self._commands = ConfiguredCommands(templates, tools, agents, redact)
        self._known: dict[tuple[str, str], tuple[Any, Unsubscribe]] = {}

    def apply(self, config: Mapping[str, Any]) -> None:
        """Put the sections into force."""
        wanted = {
            (domain, name): each
            for domain in ("shell_command", "rest_command")
            for name, each in (config.get(domain) or {}).items()
        }
        for key in [key for key, (given, _) in self._known.items() if wanted.get(key) != given]:
            self._known.pop(key)[1]()
        for key in wanted.keys() - self._known.keys():
            self._known[key] = wanted[key], self._add(*key, wanted[key])

    def _add(self, domain: str, name: str, given: Any) -> Unsubscribe:
        run: Callable[[ServiceCall], Awaitable[Mapping[str, Any]]]
        if domain == "shell_command":

            async def run(call: ServiceCall) -> Mapping[str, Any]:
                return await self._shell(given, call)
        else:

            async def run(call: ServiceCall) -> Mapping[str, Any]:
                return await self._rest(given, call)

        told = given if domain == "shell_command" else f"{given['method'].upper()} {_shown(given['url'])}"
        return self._services.register(
            domain,
            name,
            run,
            _ANYTHING,
            ResponseMode.OPTIONAL,
            AgentRule.ASK,
            description=str(told)[:200],
            open_world=True,
        )

    async def _shell(self, command: str, call: ServiceCall) -> Mapping[str, Any]:
        """Run a command."""
        ended = await self._commands.run(command, call.data, call.context)
        return {"stdout": ended.output, "stderr": "", "returncode": ended.code}

    async def _rest(self, given: Mapping[str, Any], call: ServiceCall) -> Mapping[str, Any]:
        """Send a request."""
        answer = await send_request(self._egress, self._templates, given, call.data)
        return {
            "content": _content(answer.text, answer.headers.get("content-type", "")),
            "status": answer.status,
            "headers": dict(answer.sent_headers),
        }


def _shown(url: Any) -> str:
    return "…" if isinstance(url, Secret) else str(url)


def _content(text: str, kind: str) -> Any:
    if "json" in kind:
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
