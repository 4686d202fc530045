"""Agent programs such as Claude Code and Codex: each is a model `acp/NAME` that acts by itself, for an owner only.

Spoken to in the Agent Client Protocol, https://agentclientprotocol.com, version 1. Not here: what they do; they follow
their own rules, and ask for approvals as far as those say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hub.host import IntegrationHost
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Offer each program as a model."""
    from integrations.models.acp.agent_program import API, AgentProgram

    programs = {name: AgentProgram.from_config(name, given) for name, given in config["agents"].items()}

    def own_folders() -> list[Path]:
        return [host.home.path, *(agent.workspace for agent in host.agents.all())]

    def make(name: str, _: ProviderConfig) -> ModelProvider:
        from integrations.models.acp.provider import AcpParts, AcpProvider  # not before one is asked

        return AcpProvider(name, programs, AcpParts(host.clock, host.ask, own_folders, lambda: host.language))

    host.models.add(API, make, provides=True)
