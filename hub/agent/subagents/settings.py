"""Configuration of subagents: `agents[].subagents`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.core.schema import All, AnyOf, In, Length, Optional, Range, ensure_list, integer, slug
from hub.models.schema import model_ref
from hub.models.thinking import LEVELS

LANE = "subagent"
ANY = "*"


class SubagentSettings(Struct, frozen=True):
    """What an agent may do with subagents.

    Attributes:
        max_depth: How deep they nest; 1 means that a subagent has none itself.
        max_children: How many one conversation has at the same time.
        max_concurrent: How many of the agent's run at the same time; others wait.
        timeout: Seconds one may take; 0 leaves it to `agents[].limits.seconds`.
        archive_after: Minutes after its end until its conversation is archived.
        model, thinking: Instead of the agent's own.
        allow_agents: Further agents that tasks may be given to; `*` is every agent.
    """

    max_depth: int = 1
    max_children: int = 5
    max_concurrent: int = 8
    timeout: int = 900
    archive_after: int = 60
    model: str | None = None
    thinking: str | None = None
    allow_agents: tuple[str, ...] = ()

    @classmethod
    def from_config(cls, item: Mapping[str, Any]) -> SubagentSettings:
        """Read the validated mapping."""
        return cls(**{**item, "allow_agents": tuple(item["allow_agents"])})

    def allows(self, agent_id: str, other: str) -> bool:
        """Whether an agent may give a task to another one."""
        return other == agent_id or ANY in self.allow_agents or other in self.allow_agents


SUBAGENTS_SCHEMA = {
    Optional("max_depth", default=1, description="How deep they nest; with 1 a subagent has none itself"): All(
        integer, Range(min=1, max=5)
    ),
    Optional("max_children", default=5, description="How many one conversation has at the same time"): All(
        integer, Range(min=1, max=20)
    ),
    Optional("max_concurrent", default=8, description="How many run at the same time; others wait"): All(
        integer, Range(min=1, max=64)
    ),
    Optional("timeout", default=900, description="Seconds one may take; 0 leaves it to limits.seconds"): All(
        integer, Range(min=0, max=604_800)
    ),
    Optional("archive_after", default=60, description="Minutes until the conversation of one that ended goes"): All(
        integer, Range(min=1, max=43_200)
    ),
    Optional("model", description="Their model; without it the agent's"): model_ref,
    Optional("thinking", description="How much they think; without it as the agent"): In(LEVELS),
    Optional("allow_agents", default=list, description="Further agents that tasks may be given to; * is every one"): (
        All(ensure_list(AnyOf(ANY, slug)), Length(max=100))
    ),
}
