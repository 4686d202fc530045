"""The dependencies of runs, passed from the runner to each execution."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import tzinfo
from typing import Protocol

from msgspec import Struct, field

from hub.agent.agents import Agents
from hub.agent.conversation import RunConversation
from hub.agent.prompt import PromptFile, system_prompt
from hub.agent.run_request import RunRequest
from hub.agent.window import estimate_text
from hub.agent.window_size import WindowCheck
from hub.agent.workspace import Workspaces
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.models.contract import ToolSpec, Usage
from hub.models.registry import ModelRegistry
from hub.security.redaction import Redactor
from hub.sessions.entry import TranscriptEntry
from hub.sessions.store import SessionStore
from hub.sessions.transcript import Transcript
from hub.skills.registry import SkillRegistry
from hub.tools.contract import Tool
from hub.tools.kept_results import KeptResults
from hub.tools.registry import ToolRegistry

Store = Callable[[Iterable[TranscriptEntry]], Awaitable[None]]
Before = Callable[[RunRequest, Store], Awaitable[None]]
"""Puts into a conversation, through what it is given, what has to stand before the words of a run."""
BeforeCompaction = Callable[[str], Awaitable[object]]
"""Writes what matters of a conversation, given by its session key, before the older part of it is summarised."""

CONVERSATIONS_KEPT = 256
PROMPTS_KEPT = 32
TOOL_TOKENS = 60
"""Estimated tokens of a tool beside its description."""


class UsageLog(Protocol):
    """Where the usage of model calls is kept; `hub.storage.history.History` is one."""

    def record_usage(
        self, agent_id: str, session_key: str | None, run_id: str | None, model: str, usage: Usage, time: float
    ) -> None:
        """Record what was used; must not block."""
        ...


class RunDependencies(Struct, frozen=True):
    """The parts of the hub that a run uses.

    Attributes:
        history: Where usage is kept, when it is.
        before: Asked before each run hears its words.
        before_compaction: Asked before a conversation is compacted.
        skills: The skills there are.
        windows: Which models have a window that is large enough.
        kept_results: Where tool results are kept that are too long to be shown.
    """

    sessions: SessionStore
    agents: Agents
    workspaces: Workspaces
    models: ModelRegistry
    tools: ToolRegistry
    bus: EventBus
    clock: Clock
    history: UsageLog | None
    redactor: Redactor
    tasks: TaskOwner
    conversations: ConversationSource = field(default_factory=lambda: ConversationSource())  # noqa: PLW0108  defined below
    prompts: Prompts = field(default_factory=lambda: Prompts())  # noqa: PLW0108
    before: tuple[Before, ...] = ()
    before_compaction: tuple[BeforeCompaction, ...] = ()
    skills: SkillRegistry | None = None
    windows: WindowCheck = field(default_factory=WindowCheck)
    kept_results: KeptResults | None = None

    def zone(self) -> tzinfo:
        """Return the home's time zone."""
        return self.workspaces.zone()

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int(self.clock.time() * 1_000)


class ConversationSource:
    """The most recent conversations, prepared for models."""

    def __init__(self) -> None:
        self._kept: dict[str, RunConversation] = {}

    def of(self, session_id: str, transcript: Transcript, zone: tzinfo) -> RunConversation:
        """Return the conversation of a transcript, the same as long as both stay the same."""
        known = self._kept.pop(session_id, None)
        if known is None or known.transcript is not transcript:
            known = RunConversation(transcript, zone)
        self._kept[session_id] = known
        if len(self._kept) > CONVERSATIONS_KEPT:
            del self._kept[next(iter(self._kept))]
        return known

    def knows(self, session_id: str, transcript: Transcript) -> bool:
        """Whether the conversation was prepared since its transcript was opened."""
        known = self._kept.get(session_id)
        return known is not None and known.transcript is transcript


class Prompt(Struct, frozen=True):
    """A system prompt with the tools that go with it, and about how many tokens both have."""

    system: str
    specs: tuple[ToolSpec, ...]
    tokens: int


class Prompts:
    """The prompts made last; the same strings, so that nothing about them is done twice."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, tuple[PromptFile, ...], tuple[int, ...], str], tuple[list[Tool], Prompt]] = {}

    def of(
        self, name: str, files: tuple[PromptFile, ...], tools: list[Tool], extra: str | None, skills: str = ""
    ) -> Prompt:
        """Return the prompt for an agent's name, files, tools and list of skills; `extra` is put behind it."""
        key = (name, files, tuple(map(id, tools)), skills)
        known = self._kept.get(key)
        if known is None:
            # The tools are kept with it, so that no other tool gets one of their ids.
            known = self._kept[key] = (tools, _prompt(name, files, tools, skills))
            if len(self._kept) > PROMPTS_KEPT:
                del self._kept[next(iter(self._kept))]
        prompt = known[1]
        if not extra or not extra.strip():
            return prompt
        system = f"{prompt.system}\n\n{extra.strip()}"
        return Prompt(system, prompt.specs, prompt.tokens + estimate_text(extra))


def _prompt(name: str, files: tuple[PromptFile, ...], tools: list[Tool], skills: str) -> Prompt:
    specs = tuple(ToolSpec(tool.name, tool.description, tool.parameters.json_schema) for tool in tools)
    system = system_prompt(name, files, tuple(tool.name for tool in tools), skills)
    tokens = estimate_text(system) + sum(estimate_text(spec.description) + TOOL_TOKENS for spec in specs)
    return Prompt(system, specs, tokens)
