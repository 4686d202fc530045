"""The seams of automations: kinds of triggers, conditions and actions, their inputs and results.

A kind is a module with a constant `KIND`; `hub.automation.definition.kinds` finds it by the word used in the YAML.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from hub.automation.definition.registry_ids import RegistryIds
from hub.automation.engine.firing_queue import FiringQueue
from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import EventBus, Unsubscribe
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.security.people import People

if TYPE_CHECKING:
    from hub.automation.definition.kinds import Kinds
    from hub.automation.running.run import Run
    from hub.automation.schedule.timetable import Timetable
    from hub.automation.sources.file_watch import FileWatch
    from hub.automation.sources.sentence_matcher import Sentences
    from hub.automation.sources.webhooks import Webhooks
    from hub.hooks.registry import Hooks
    from hub.security.egress import Egress
    from hub.storage.history import HistoryStore
    from hub.template.engine import TemplateEngine


class Mode(StrEnum):
    """What happens when an automation is triggered while it is running."""

    SINGLE = "single"
    RESTART = "restart"
    QUEUED = "queued"
    PARALLEL = "parallel"


class StepOutcome(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    """A `stop` step, or a condition among the actions that was not met."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Restarted, turned off, or deleted."""
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    """An approval was denied, or not given in time."""
    INTERRUPTED = "interrupted"
    """The hub stopped in the middle of a step that cannot be resumed."""


class NotRun(StrEnum):
    """Why a firing started no run."""

    CONDITIONS = "conditions"
    PAUSED = "paused"
    MODE = "mode"
    """It is already running (`single`), or `max` runs are."""
    RATE_LIMIT = "rate_limit"
    BUDGET = "budget"
    MISSED = "missed"
    """It was due while the hub was down or the machine slept, and `catch_up` skips it."""
    ERROR = "error"
    """A condition or a variable could not be evaluated."""


class Location(Struct, frozen=True):
    """Where the home is, in degrees and metres."""

    latitude: float
    longitude: float
    elevation_m: float = 0.0


class SentenceQuestion(Struct, frozen=True):
    """The question that an `agent` condition asks a model.

    Attributes:
        text: The question, rendered.
        answers: `yes_no`, `score` (0 to 1), or the choices.
        agent: The agent whose model and persona answer; None for the default agent.
        model: Instead of the agent's.
        data: The subject of the question: text from outside, quoted as such.
        automation_id: The automation of the condition, which the cost is counted for.
    """

    text: str
    answers: str | tuple[str, ...]
    agent: str | None = None
    model: str | None = None
    timeout_s: float = 60.0
    data: str = ""
    automation_id: str | None = None


class SentenceAnswer(Struct, frozen=True):
    """The model's answer: True/False, a score, or one of the choices; with its reason and cost."""

    value: bool | float | str
    reason: str = ""
    model: str | None = None
    cost_usd: float | None = None


Judge = Callable[[SentenceQuestion, Context], Awaitable[SentenceAnswer]]


class RunSpending(Protocol):
    """Recent spending, kept in memory so that a condition may ask at every trigger."""

    def cost_usd(self, *, since: float, agent: str | None = None, automation: str | None = None) -> float:
        """Return dollars since a time (seconds since the epoch), of an agent or of the runs of an automation."""
        ...

    def tokens(self, *, since: float, agent: str | None = None, automation: str | None = None) -> int:
        """Return tokens since a time."""
        ...


class AutomationParts(Struct, frozen=True):
    """The dependencies of the engine; a backtest gives the same engine its own bus, states and clock.

    Attributes:
        home: The home directory; triggers on files see only what is in it.
        zone: The home's time zone as configured now.
        location: Where the home is, when that is configured.
        people: The people of this home as configured now.
        kinds: The kinds of triggers, conditions and actions.
        judge: Asks a model; None in a simulation.
        spending: Recent spending; None where it is not counted.
        history: The store of traces; None in a simulation.
        webhooks: The webhooks that triggers wait for; None where there are none.
        sentences: The sentences that triggers answer; None where there are none.
        egress: Fetches from outside; None where nothing may be fetched.
        files: Watches files; None where there are none.
        hooks: The hooks; None in a simulation.
        firings: Orders what triggers fire.
        ids: Knows entities and devices by the ids of another registry.
    """

    bus: EventBus
    states: StateMachine
    services: ServiceRegistry
    clock: Clock
    timetable: Timetable
    templates: TemplateEngine
    tasks: TaskOwner
    repairs: Repairs
    home: Path
    zone: Callable[[], tzinfo]
    location: Callable[[], Location | None]
    people: Callable[[], People]
    kinds: Kinds
    judge: Judge | None = None
    spending: RunSpending | None = None
    history: HistoryStore | None = None
    webhooks: Webhooks | None = None
    sentences: Sentences | None = None
    egress: Egress | None = None
    files: FileWatch | None = None
    hooks: Hooks | None = None
    firings: FiringQueue = field(default_factory=FiringQueue)
    ids: RegistryIds = field(default_factory=RegistryIds)


# --- triggers ---


class Firing(Struct, frozen=True):
    """One trigger that fired.

    Attributes:
        trigger: What templates see as `trigger`: platform, id, idx, alias, description and what its kind adds.
        context: The cause; None when it was time alone.
        tainted: Whether its data comes from outside (webhooks, feeds, messages of strangers, MQTT).
        planned: For schedules: when it was due, seconds since the epoch.
        missed: The number of earlier occurrences that were skipped or are covered by this one.
        skipped: Whether it was due too long ago, and is only recorded.
        variables: Variables of this trigger (its `variables` key), not rendered.
        given: Variables passed by the caller: plain values, never rendered.
        key: The key under which the planned time is saved once handled; empty for triggers without catch-up.
    """

    trigger: Mapping[str, Any]
    context: Context | None = None
    tainted: bool = False
    planned: float | None = None
    missed: int = 0
    skipped: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)


class TriggerHost(Protocol):
    """The host of an armed trigger: identifies it and forwards its firings."""

    @property
    def parts(self) -> AutomationParts: ...

    @property
    def automation_id(self) -> str: ...

    @property
    def index(self) -> str:
        """The position of the trigger, `0`, `1`, or `1/0` in a nested list; stable until the automation is edited."""
        ...

    @property
    def variables(self) -> Mapping[str, Any]:
        """`trigger_variables`, rendered when it was armed."""
        ...

    @property
    def templates(self) -> bool:
        """Whether texts may be templates; if not, nothing is rendered."""
        ...

    @property
    def catch_up(self) -> Mapping[str, Any]:
        """`{"mode": none | last | all, "within": seconds}`; schedules hand it to the timetable."""
        ...

    def armed(self) -> float | None:
        """Return when it was first armed in its present form (restarts do not count), or None for just now."""
        ...

    def handled(self) -> float | None:
        """Return the planned time of the last occurrence that was handled, or since when it is armed."""
        ...

    def fire(
        self,
        trigger: Mapping[str, Any],
        context: Context | None = None,
        *,
        tainted: bool = False,
        planned: float | None = None,
        missed: int = 0,
        skipped: bool = False,
    ) -> None:
        """Report a firing; `platform`, `id`, `idx` and `alias` are added. Returns at once and never raises."""
        ...

    def fail(self, message: str) -> None:
        """Report that it no longer works: the automation gets a repair, and its other triggers continue."""
        ...


Arm = Callable[[Mapping[str, Any], TriggerHost], Unsubscribe]
Explain = Callable[[Mapping[str, Any]], str]
Rule = Callable[[dict[str, Any]], dict[str, Any]]


class TriggerKind(Struct, frozen=True, eq=False):
    """A kind of trigger.

    Attributes:
        name: The word behind `trigger:`.
        fields: Schema of its keys; `trigger`, id, alias, enabled and variables are added to every kind.
        arm: Starts watching with a validated configuration; returns a function that stops it. Runs on the event loop
            and must not block; longer work is a task of `host.parts.tasks`.
        explain: Describes in plain words when it fires: "when light.kitchen turns on".
        description: One line for documentation and the editor.
        next_due: For schedules: the next firing of the armed configuration, seconds since the epoch.
        rule: Checks across keys, after the schema; raises `Invalid`.
    """

    name: str
    fields: Mapping[Any, Any]
    arm: Arm
    explain: Explain
    description: str
    next_due: Callable[[Mapping[str, Any], TriggerHost], float | None] | None = None
    rule: Rule | None = None


# --- conditions ---


class ConditionVerdict(Struct, frozen=True):
    """Whether a condition is met, and why, for people.

    Attributes:
        reason: "light.kitchen is off, not on".
        details: The compared values, for the trace.
        children: Verdicts of nested conditions, by path below it.
    """

    holds: bool
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    children: Mapping[str, ConditionVerdict] = field(default_factory=dict)


class Asking(Struct, frozen=True):
    """The environment of a condition check: the parts, the variables (with `trigger`), the authority.

    `templates` is false for text written by a model, which is never rendered.
    """

    parts: AutomationParts
    variables: Mapping[str, Any]
    context: Context
    automation_id: str
    templates: bool = True


class ConditionKind(Struct, frozen=True, eq=False):
    """A kind of condition.

    Attributes:
        name: The word behind `condition:`.
        fields: Schema of its keys; `condition`, alias and enabled are added to every kind.
        check: Whether it is met now; raises `HubError` when that is not known. Exactly one of the two is given:
            `check` if it answers at once, `check_later` if it has to wait.
        explain: Describes it in plain words: "light.kitchen is on".
    """

    name: str
    fields: Mapping[Any, Any]
    explain: Explain
    description: str
    check: Callable[[Mapping[str, Any], Asking], ConditionVerdict] | None = None
    check_later: Callable[[Mapping[str, Any], Asking], Awaitable[ConditionVerdict]] | None = None
    rule: Rule | None = None


# --- actions ---


class ActionKind(Struct, frozen=True, eq=False):
    """A kind of step.

    Attributes:
        name: The key that identifies it: `action`, `delay`, `choose`, …
        fields: Schema of all its keys; alias, enabled and continue_on_error are added to every kind.
        run: Runs the step; `hub.automation.running.run.Run` is what it may ask of its run. Cancelling undoes nothing.
        explain: Says in plain words what it does.
        effect: Whether it does something outside its run by itself: one that is kept over a restart is then on disk
            before its next step, and does not do it again.
    """

    name: str
    fields: Mapping[Any, Any]
    run: Callable[[Mapping[str, Any], Run, str], Awaitable[None]]
    explain: Explain
    description: str
    rule: Rule | None = None
    effect: bool = True
