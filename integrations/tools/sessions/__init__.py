"""Sessions: tools about sessions, agents, subagents and other conversations, and questions to people.

Sessions themselves are in `hub/sessions`, subagents in `hub/agent/subagents`, exchanges in `hub/agent/exchanges`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.agent.exchanges.settings import ExchangeSettings
from integrations.tools.sessions.asking import QuestionTool
from integrations.tools.sessions.delegation import DelegationTools
from integrations.tools.sessions.reading import SessionReaders
from integrations.tools.sessions.searching import SearchTool
from integrations.tools.sessions.secret import SecretTool
from integrations.tools.sessions.sending import SendTool
from integrations.tools.sessions.tool import SessionTools
from integrations.tools.sessions.visibility import SessionVisibility

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""

    def settings() -> ExchangeSettings:
        return ExchangeSettings.from_config(host.config.or_default("tools"))

    tools = SessionTools(host.sessions, host.agents, host.models.registry, host.clock, lambda: host.time_zone)
    visibility = SessionVisibility(host.sessions, host.agents, host.subagents.below, lambda: host.people)
    readers = SessionReaders(visibility, host.sessions, host.agents, host.clock, settings)
    delegation = DelegationTools(host.subagents)
    secrets = SecretTool(host.ask, host.agent_secrets, host.sessions, lambda: f"{host.dashboard_url}/")
    asking = QuestionTool(host.ask, host.sessions, host.clock)
    sending = SendTool(host.exchanges, visibility, host.agents, people=lambda: host.people, settings=settings)
    searching = SearchTool(host.transcript_search, visibility, host.sessions)
    host.tools.add(
        *tools.all(), *readers.all(), *delegation.all(), *asking.all(), *secrets.all(), *sending.all(), *searching.all()
    )
