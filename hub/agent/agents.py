"""The agents of this home, as configured; without any there is one, `main`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.agent.answer.human_delay import HumanDelay, human_delay
from hub.agent.budgets.limits import RunLimits
from hub.agent.compaction.settings import CompactionSettings
from hub.agent.conversation.old_results import PruningSettings
from hub.agent.prompt.prompt import PromptSettings
from hub.agent.schema import AGENTS_SCHEMA
from hub.agent.subagents.settings import SubagentSettings
from hub.core.context import Authority, ToolPolicy
from hub.core.errors import NotFound
from hub.models.contract import ModelInfo
from hub.models.resolved import Resolved
from hub.sandbox.schema import sandbox_settings
from hub.sandbox.settings import SandboxSettings
from hub.storage.homedir import Home
from hub.tools.policy import (
    ModelPolicies,
    ToolRules,
    model_policies_from_config,
    policies_for_model,
    policies_from_config,
)

IMPLICIT_ID = "main"
DEFAULT_NAME = "Homarus"

_DEFAULT_MODEL = (None, "auto", "default")


class Agent(Struct, frozen=True):
    """An agent, as configured.

    Attributes:
        id: Stable; identifies the agent in session keys and storage.
        name: For people, and how it calls itself.
        workspace: Its directory.
        emoji: A symbol that is shown with its name.
        avatar: A picture of it, relative to its workspace.
        default: Whether it answers where nothing names another.
        model: What its runs use; None is `models.default`.
        thinking: How much it thinks; None leaves it to the model.
        limits: Bounds on one run.
        compaction: When its conversations are compacted.
        pruning: How old tool results are shortened.
        prompt: How much of the system prompt it gets.
        tool_policies: All must permit a tool.
        model_policies: Must permit it too while a model of that name answers.
        seed_workspace: Whether the first files are written into its workspace.
        context_tokens: How much of a model's window it uses at most; None for all of it.
        params: Further parameters of its model calls.
        credentials: Credentials that it may use, in order, by provider.
        exec: Its own settings for commands, which come before those of `exec:`.
        skills: Names of the skills it may use; None is all.
        mention_patterns: Regular expressions that count as a mention of it in a group.
        human_delay: The pause between the blocks of its answers; None is `messages.human_delay`.
        subagents: What it may do with subagents.
        sandbox: Where its programs run.
    """

    id: str
    name: str
    workspace: Path
    default: bool = False
    emoji: str = ""
    avatar: str | None = None
    model: str | None = None
    thinking: str | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    pruning: PruningSettings = field(default_factory=PruningSettings)
    prompt: PromptSettings = field(default_factory=PromptSettings)
    tool_policies: tuple[ToolPolicy, ...] = ()
    model_policies: ModelPolicies = field(default_factory=dict)
    seed_workspace: bool = True
    context_tokens: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    mention_patterns: tuple[str, ...] = ()
    credentials: Mapping[str, Sequence[str]] = field(default_factory=dict)
    skills: tuple[str, ...] | None = None
    exec: Mapping[str, Any] = field(default_factory=dict)
    human_delay: HumanDelay | None = None
    subagents: SubagentSettings = field(default_factory=SubagentSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)

    @property
    def title(self) -> str:
        """Its name with its symbol, if it has one."""
        return f"{self.emoji} {self.name}" if self.emoji else self.name

    def window(self, info: ModelInfo) -> int:
        """Return how many tokens of a model's window the agent uses."""
        return info.context_window if self.context_tokens is None else min(self.context_tokens, info.context_window)

    def within(self, candidates: Sequence[Resolved]) -> list[Resolved]:
        """Return models with their windows reduced to what the agent uses."""
        if self.context_tokens is None:
            return list(candidates)
        return [replace(each, info=replace(each.info, context_window=self.window(each.info))) for each in candidates]

    def policies_in(
        self, session_key: str, authority: Authority, rules: ToolRules, model: str | None
    ) -> tuple[ToolPolicy, ...]:
        """Return the policies that must all permit a tool in a conversation, which may be sandboxed; see `policies`."""
        return (*self.policies(rules, model), *self.sandbox.confinement(session_key, authority).policies)

    def policies(self, rules: ToolRules, model: str | None) -> tuple[ToolPolicy, ...]:
        """Return the policies that must all permit a tool while a model answers, beside the rules for everybody.

        Args:
            rules: The configured rules for tools.
            model: `provider/model`; None while it is not known.
        """
        if not rules.by_provider and not self.model_policies:
            return self.tool_policies
        of_model = (*policies_for_model(rules.by_provider, model), *policies_for_model(self.model_policies, model))
        return (*self.tool_policies, *of_model) if of_model else self.tool_policies

    def as_dict(self) -> dict[str, Any]:
        """The agent as plain data."""
        return {
            "id": self.id,
            "name": self.name,
            "emoji": self.emoji,
            "avatar": self.avatar,
            "default": self.default,
            "model": self.model,
            "thinking": self.thinking,
            "workspace": str(self.workspace),
        }


class Agents:
    """The agents, by id.

    Args:
        config: The validated section `agents:`; None or an empty one is one agent, `main`.
        home: Paths of the home directory, which relative workspaces are relative to.
    """

    def __init__(self, config: Sequence[Mapping[str, Any]] | None, home: Home) -> None:
        self._home = home
        self._agents: dict[str, Agent] = {}
        self.configure(config)

    def configure(self, config: Sequence[Mapping[str, Any]] | None) -> None:
        """Replace the configuration; runs in progress keep the agent they began with."""
        items = AGENTS_SCHEMA([dict(item) for item in config or ()]) or [AGENTS_SCHEMA({"id": IMPLICIT_ID})[0]]
        chosen = next((item["id"] for item in items if item["default"]), items[0]["id"])
        self._agents = {item["id"]: self._agent(item, default=item["id"] == chosen) for item in items}
        self._default = self._agents[chosen]

    def get(self, id: str) -> Agent:
        """Return an agent.

        Raises:
            NotFound: There is none of that id.
        """
        agent = self._agents.get(id)
        if agent is None:
            near = difflib.get_close_matches(id[:64], self._agents, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise NotFound(
                f"There is no agent {id[:64]!r}.{hint} There are: {', '.join(self._agents)} (agents: in the "
                "configuration).",
                details={"agent_id": id[:64]},
            )
        return agent

    def default(self) -> Agent:
        """Return the agent that answers where nothing names another."""
        return self._default

    def all(self) -> list[Agent]:
        """Return every agent, in the order of the configuration."""
        return list(self._agents.values())

    def _agent(self, item: Mapping[str, Any], *, default: bool) -> Agent:
        fallback = "workspace" if default else f"workspace-{item['id']}"
        return Agent(
            id=item["id"],
            name=item.get("name") or (DEFAULT_NAME if item["id"] == IMPLICIT_ID else item["id"]),
            # An absolute path, or one that begins with ~, is used unchanged.
            workspace=self._home.path / Path(item.get("workspace") or fallback).expanduser(),
            default=default,
            emoji=item.get("emoji", ""),
            avatar=item.get("avatar"),
            model=None if item.get("model") in _DEFAULT_MODEL else item["model"],
            thinking=item.get("thinking"),
            limits=RunLimits(**item["limits"]),
            compaction=CompactionSettings(**item["compaction"]),
            pruning=_pruning(item["pruning"]),
            prompt=PromptSettings(**item["prompt"]),
            tool_policies=policies_from_config(item["tools"], f"agents.{item['id']}.tools"),
            model_policies=model_policies_from_config(item["tools"], f"agents.{item['id']}.tools"),
            seed_workspace=item["seed_workspace"],
            context_tokens=item.get("context_tokens"),
            params=item["params"],
            mention_patterns=tuple(item["mention_patterns"]),
            credentials=item["credentials"],
            skills=tuple(item["skills"]) if "skills" in item else None,
            exec=item["exec"],
            human_delay=human_delay(item["human_delay"]) if "human_delay" in item else None,
            subagents=SubagentSettings.from_config(item["subagents"]),
            sandbox=sandbox_settings(item.get("sandbox")),
        )


def _pruning(item: Mapping[str, Any]) -> PruningSettings:
    tools = item["tools"]
    return PruningSettings(item["mode"], item.get("ttl"), tuple(tools["allow"]), tuple(tools["deny"]))
