"""Sessions: tools that show sessions and agents, give tasks to subagents, and ask people.

Sessions themselves are in `hub/sessions`, subagents in `hub/agent/subagents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from integrations.tools.sessions.asking import QuestionTool
from integrations.tools.sessions.delegation import DelegationTools
from integrations.tools.sessions.reading import SessionReaders
from integrations.tools.sessions.tool import SessionTools

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the tools."""
    tools = SessionTools(host.sessions, host.agents, host.models.registry, host.clock, lambda: host.time_zone)
    readers = SessionReaders(host.sessions, host.agents, host.clock, lambda: host.people)
    delegation = DelegationTools(host.subagents)
    asking = QuestionTool(host.ask, host.sessions, host.clock)
    host.tools.add(*tools.all(), *readers.all(), *delegation.all(), *asking.all())
