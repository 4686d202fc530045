"""The dependencies of runs, passed from the runner to each step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from msgspec import Struct, field

from hub.agent.agents import Agents
from hub.agent.budgets.budgets import Spending
from hub.agent.budgets.ledger import BudgetLedger, Spender
from hub.agent.conversation.conversation import ConversationSource
from hub.agent.conversation.window_size import WindowCheck
from hub.agent.prompt.prompts import Prompts
from hub.agent.run_request import RunRequest
from hub.agent.runs.trace import RunTrace
from hub.agent.workspace.workspace import Workspaces
from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.hooks.registry import Hooks
from hub.models.contract import Usage
from hub.models.registry import ModelRegistry
from hub.security.redaction import Redactor
from hub.sessions.entry import TranscriptEntry
from hub.sessions.store import SessionStore
from hub.skills.registry import SkillRegistry
from hub.tools.kept_results import KeptResults
from hub.tools.registry import ToolRegistry

Store = Callable[[Iterable[TranscriptEntry]], Awaitable[None]]
Before = Callable[[RunRequest, Store], Awaitable[None]]
"""Puts into a conversation, through what it is given, what has to stand before the words of a run."""
BeforeCompaction = Callable[[str], Awaitable[object]]
"""Writes what matters of a conversation, given by its session key, before the older part of it is summarised."""

Charge = Callable[[Spender, str, Usage], None]
"""Records a model call that is not a step of a run, as `RunDependencies.charge` does."""


def _nowhere(session_key: str) -> bool:
    """Default callable: there are no chat platforms."""
    return False


class UsageLog(Protocol):
    """Where the usage of model calls and the traces of runs are kept; `hub.storage.history.HistoryStore` is one."""

    def record_usage(
        self, agent_id: str, session_key: str | None, run_id: str | None, model: str, usage: Usage, time: float
    ) -> None:
        """Record what was used; must not block."""
        ...

    def record_run(self, run_id: str, trace: RunTrace, time: float) -> None:
        """Record the trace of a run that has ended; must not block."""
        ...


class RunDependencies(Struct, frozen=True):
    """The parts of the hub that a run uses.

    Attributes:
        history: Stores usage and traces, if anything does.
        before: Asked before each run hears its words.
        before_compaction: Asked before a conversation is compacted.
        skills: The skills there are.
        windows: Which models have a window that is large enough.
        kept_results: Stores tool results that are too long to be shown.
        budgets: Counts what runs spend, and limits it.
        hooks: Hooks that may change a run.
        in_chat_app: Whether messages of a conversation, given by its key, may come through a chat app.
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
    conversations: ConversationSource = field(default_factory=ConversationSource)
    prompts: Prompts = field(default_factory=Prompts)
    before: tuple[Before, ...] = ()
    before_compaction: tuple[BeforeCompaction, ...] = ()
    skills: SkillRegistry | None = None
    windows: WindowCheck = field(default_factory=WindowCheck)
    kept_results: KeptResults | None = None
    budgets: BudgetLedger | None = None
    hooks: Hooks | None = None
    in_chat_app: Callable[[str], bool] = _nowhere

    def charge(self, spender: Spender, model: str, usage: Usage) -> None:
        """Record a model call that is not a step of a run, and count it in the budgets.

        Args:
            spender: Whose budgets pay; an empty run or session key is ignored.
            model: Which model answered.
            usage: The usage of the call.
        """
        if self.history is not None:
            session_key, run_id, now = spender.session_key or None, spender.run_id or None, self.clock.time()
            self.history.record_usage(spender.agent_id, session_key, run_id, model, usage, now)
        if self.budgets is not None:
            self.budgets.charge(spender, Spending(1, usage.total_tokens, usage.cost_usd or 0.0))

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int(self.clock.time() * 1_000)
