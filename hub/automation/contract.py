"""The seams of automations: kinds of triggers, conditions and actions, and what each may ask of the hub.

A kind of automations themselves is a module with a constant `KIND`; that of another part or of an integration is in
the `KINDS` of its `trigger.py`, `condition.py` or `action.py`. `hub.automation.definition.kinds` finds it by the word
used in the YAML.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from msgspec import Struct, field

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import EventBus, Unsubscribe
from hub.core.secret import SecretMask
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.security.people import People
from hub.storage.files import Documents

if TYPE_CHECKING:
    from hub.automation.engine.firing_queue import FiringQueue
    from hub.automation.running.dry_run import DryRun
    from hub.automation.running.position import Position
    from hub.automation.running.scope import RunScope
    from hub.automation.schedule.timetable import Timetable
    from hub.template.engine import TemplateEngine

T = TypeVar("T")

DRAFT_ASKED = "You write one automation of a home from one sentence."
"""How the prompt begins that asks a model for an automation."""
DRAFT_ENTITY = re.compile(r"^- ([a-z0-9_]+\.[a-z0-9_]+): ([^\n]+?)(?: = [^\n]*)?$", re.MULTILINE)
"""A line of it that names an entity: its id, its name, perhaps its state."""


class Mode(StrEnum):
    """What happens when an automation is triggered while it is running."""

    SINGLE = "single"
    RESTART = "restart"
    QUEUED = "queued"
    PARALLEL = "parallel"


class RunOutcome(StrEnum):
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
    """The reason why a firing started no run."""

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


class JudgeQuestion(Struct, frozen=True):
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


class JudgeAnswer(Struct, frozen=True):
    """The model's answer: True/False, a score, or one of the choices; with its reason and cost."""

    value: bool | float | str
    reason: str = ""
    model: str | None = None
    cost_usd: float | None = None


Judge = Callable[[JudgeQuestion, Context], Awaitable[JudgeAnswer]]


class RunSpending(Protocol):
    """Recent spending, kept in memory so that conditions can be checked at every trigger."""

    def cost_usd(self, *, since: float, agent: str | None = None, automation: str | None = None) -> float:
        """Return the dollars spent since a time (seconds since the epoch), by an agent or an automation's runs."""
        ...

    def tokens(self, *, since: float, agent: str | None = None, automation: str | None = None) -> int:
        """Return the tokens used since a time."""
        ...


# --- what kinds may use of the hub ---


class HubParts(Protocol):
    """The hub as every kind may use it; a backtest provides its own."""

    @property
    def bus(self) -> EventBus: ...

    @property
    def states(self) -> StateMachine: ...

    @property
    def services(self) -> ServiceRegistry: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def templates(self) -> TemplateEngine: ...


class TriggerParts(HubParts, Protocol):
    """The further dependencies of triggers."""

    @property
    def tasks(self) -> TaskOwner:
        """The owner of its background tasks."""
        ...

    @property
    def timetable(self) -> Timetable: ...

    @property
    def firings(self) -> FiringQueue:
        """The queue of events that many triggers wait for."""
        ...

    @property
    def holding(self) -> set[asyncio.Task[None]]:
        """The waits of triggers for their `for` to pass: while there are any, the home stays open."""
        ...

    @property
    def home(self) -> Path:
        """The home directory."""
        ...

    @property
    def documents(self) -> Documents:
        """Keeps the small files that a trigger needs after a restart."""
        ...

    @property
    def zone(self) -> Callable[[], tzinfo]: ...

    @property
    def location(self) -> Callable[[], Location | None]: ...

    def source(self, kind: type[T]) -> T | None:
        """Return the hub's source of a kind (webhooks, files, …); None where there is none."""
        ...


class ConditionParts(HubParts, Protocol):
    """The further dependencies of conditions; the judge and the spending may be missing."""

    @property
    def kinds(self) -> KindTable: ...

    @property
    def people(self) -> Callable[[], People]: ...

    @property
    def zone(self) -> Callable[[], tzinfo]: ...

    @property
    def location(self) -> Callable[[], Location | None]: ...

    @property
    def judge(self) -> Judge | None: ...

    @property
    def spending(self) -> RunSpending | None: ...


class StepParts(TriggerParts, Protocol):
    """The dependencies of steps, which include those of triggers."""

    @property
    def kinds(self) -> KindTable: ...


class KindTable(Protocol):
    """The kinds of triggers and conditions by name; see `hub.automation.definition.kinds.Kinds`."""

    def trigger(self, name: str) -> TriggerKind: ...

    def condition(self, name: str) -> ConditionKind: ...

    def in_use(self) -> AbstractContextManager[None]: ...


# --- triggers ---


@runtime_checkable
class RecordedSource(Protocol):
    """A source of triggers whose past is in the history."""

    def replayed(self, bus: EventBus, clock: Clock) -> RecordedSource:
        """Return the source of a backtest, over the bus that replays the recorded events."""
        ...


class Firing(Struct, frozen=True):
    """One trigger that fired.

    Attributes:
        trigger: The value of `trigger` in templates: platform, id, idx, alias, description and additions of its kind.
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
    def parts(self) -> TriggerParts: ...

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
        """Return the time when it was first armed in its present form (restarts do not count), or None for just now."""
        ...

    def handled(self) -> float | None:
        """Return the planned time of the last handled occurrence, or the time since when it is armed."""
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
        name: The word after `trigger:`.
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


class ConditionContext(Struct, frozen=True):
    """The environment of a condition check: the parts, the variables (with `trigger`), the authority.

    `templates` is false for text written by a model, which is never rendered.
    """

    parts: ConditionParts
    variables: Mapping[str, Any]
    context: Context
    automation_id: str
    templates: bool = True

    def render(self, value: Any, *, quote: Callable[[str], str] | None = None) -> Any:
        """Return a value with its templates rendered.

        Args:
            quote: Transforms each text that a template inserts.

        Raises:
            HubError: A template cannot be rendered; the message names the line and the variable.
        """
        if not self.templates:
            return value
        return self.parts.templates.render_value(value, self.variables, quote=quote)


class ConditionKind(Struct, frozen=True, eq=False):
    """A kind of condition.

    Attributes:
        name: The word after `condition:`.
        fields: Schema of its keys; `condition`, alias and enabled are added to every kind.
        check: Whether it is met now; raises `HubError` when that is not known. Exactly one of the two is given:
            `check` if it answers at once, `check_later` if it has to wait.
        explain: Describes it in plain words: "light.kitchen is on".
    """

    name: str
    fields: Mapping[Any, Any]
    explain: Explain
    description: str
    check: Callable[[Mapping[str, Any], ConditionContext], ConditionVerdict] | None = None
    check_later: Callable[[Mapping[str, Any], ConditionContext], Awaitable[ConditionVerdict]] | None = None
    rule: Rule | None = None


# --- actions ---


class StepRun(Protocol):
    """The run as a step sees it."""

    scope: RunScope
    """The variables that are seen here."""
    dry: DryRun | None
    """In a dry run, the record of what would be done; nothing is done then."""
    memo: dict[int, tuple[Any, Any]]
    """What was worked out of the configuration, by its identity; the configuration is kept with it."""
    position: Position

    @property
    def parts(self) -> StepParts: ...

    @property
    def id(self) -> str: ...

    @property
    def automation_id(self) -> str: ...

    @property
    def context(self) -> Context:
        """The cause and the authority of the run; tainted as soon as something from outside came in."""
        ...

    @property
    def templates(self) -> bool:
        """Whether texts may be templates; if not, nothing is rendered."""
        ...

    @property
    def secrets(self) -> SecretMask:
        """The secrets of the definition."""
        ...

    @property
    def is_kept(self) -> bool:
        """Whether it survives a restart of the hub."""
        ...

    # Values.

    def is_static(self, value: Any) -> bool:
        """Whether a value of the configuration has no templates."""
        ...

    def render(self, value: Any) -> Any:
        """Return a value with its templates rendered; words of devices in them taint the run."""
        ...

    async def render_later(self, value: Any, *, quote: Callable[[str], str] | None = None) -> Any:
        """Like `render`, without holding up the event loop; `quote` transforms each text that a template inserts."""
        ...

    async def define(self, variables: Mapping[str, Any]) -> None:
        """Assign variables in their order; each may use those before it."""
        ...

    def assign(self, name: str, value: Any) -> None:
        """Assign one variable, and record it in the trace."""
        ...

    def taint(self) -> None:
        """Mark the run as tainted; its authority is narrowed permanently."""
        ...

    def respond(self, text: str | None) -> None:
        """Set the answer to the sentence that triggered the run."""
        ...

    # The trace.

    def tell(self, **result: Any) -> None:
        """Record the result of this step."""
        ...

    def record(self, path: str, **result: Any) -> None:
        """Record a result at another path."""
        ...

    def child(
        self, *, run_id: str | None = None, automation_id: str | None = None, session_key: str | None = None
    ) -> None:
        """Record what this step started."""
        ...

    # Other steps and conditions.

    async def sequence(self, steps: Sequence[Mapping[str, Any]], path: str) -> bool:
        """Run steps in order; return False when a condition among them ended the sequence."""
        ...

    async def holds(self, conditions: Sequence[Mapping[str, Any]], path: str) -> bool:
        """Return whether all conditions hold, and record each verdict under `path`."""
        ...

    async def holds_here(self, condition: Mapping[str, Any], path: str) -> bool:
        """Like `holds`, for a condition that is itself this step."""
        ...

    def fork(self, path: str, local: dict[str, Any], *, branch: bool = False) -> StepRun:
        """Return the run as seen from within the step at `path`, with variables that are seen only there."""
        ...

    # What is kept over a restart.

    def resume(self, path: str) -> Any:
        """Return the state in which a step was when the hub stopped; None when it begins now."""
        ...

    def note(self, path: str, state: Any) -> None:
        """Remember the state of a step; it is on disk with the next save."""
        ...

    def leave(self, path: str) -> None:
        """Drop the states below a path, which starts over."""
        ...

    async def save(self, path: str, state: Any) -> None:
        """Remember the state of a step and return once it is on disk."""
        ...


Act = Callable[[Mapping[str, Any], StepRun, str], Awaitable[None]]
"""Runs a step: its validated configuration, the run, and its path."""


class ActionKind(Struct, frozen=True, eq=False):
    """A kind of step.

    Attributes:
        name: The key that identifies it: `action`, `delay`, `choose`, …
        fields: Schema of all its keys; alias, enabled and continue_on_error are added to every kind.
        run: Runs the step. Cancelling undoes nothing.
        explain: Describes it in plain words.
        effect: Whether it does something outside its run by itself: one that is kept over a restart is then on disk
            before its next step, and does not do it again.
    """

    name: str
    fields: Mapping[Any, Any]
    run: Act
    explain: Explain
    description: str
    rule: Rule | None = None
    effect: bool = True
