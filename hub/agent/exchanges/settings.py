"""Configuration of messages between agents: `tools.agent_to_agent`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.config.checked import Config
from hub.config.sections import CheckReport, CrossCheck
from hub.config.suggest import did_you_mean
from hub.core.errors import Forbidden
from hub.core.phrases import phrase

ANY = "*"
KEY = "agent_to_agent"


class ExchangeSettings(Struct, frozen=True):
    """Which agents may write to each other.

    Attributes:
        enabled: Whether any do.
        allow: Agents that may write and be written to; `*` is every agent.
        max_turns: Further turns after the first answer.
    """

    enabled: bool = False
    allow: tuple[str, ...] = (ANY,)
    max_turns: int = 5

    @classmethod
    def from_config(cls, tools: Mapping[str, Any]) -> ExchangeSettings:
        """Read them from the validated section `tools`."""
        stated = tools.get(KEY) or {}
        return cls(**{**stated, "allow": tuple(stated.get("allow", (ANY,)))})

    def check(self, agent_id: str, other: str) -> None:
        """Check that one agent may write to another.

        Raises:
            Forbidden: It may not; the message names the setting.
        """
        if self.allows(agent_id, other):
            return
        if not self.enabled:
            raise Forbidden("agents do not write to each other here (tools.agent_to_agent.enabled is false)")
        missing = next(each for each in (agent_id, other) if each not in self.allow)
        raise Forbidden(f"the agent {missing} is not in tools.agent_to_agent.allow")

    def allows(self, agent_id: str, other: str) -> bool:
        """Whether one agent may write to another."""
        return agent_id == other or (self.enabled and (ANY in self.allow or {agent_id, other} <= {*self.allow}))


def _agents_exist(config: Config, report: CheckReport) -> None:
    """Report allowed agents that do not exist."""
    tools, stated = config.get("tools"), config.get("agents")
    if not tools or stated is None:
        return  # they are broken and have their own errors
    agents = [each["id"] for each in stated] or ["main"]
    for at, each in enumerate(tools[KEY]["allow"]):
        if each != ANY and each not in agents:
            wrong = phrase("there is no agent {agent}", agent=repr(each))
            report.error(("tools", KEY, "allow", at), wrong, did_you_mean(each, agents, known=phrase("there are")))


CROSS_CHECKS: Mapping[str, CrossCheck] = {"agents that write to each other": _agents_exist}
