"""The seams of automations: kinds of triggers, conditions and actions, what they are handed, and what they give back.

A kind is a module with a constant `KIND`; `hub.automation.definition.kinds` finds it by the word used in the YAML.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import tzinfo
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from hub.core.clock import Clock
from hub.core.context import Context
from hub.core.events import EventBus, Unsubscribe
from hub.core.repairs import Repairs
from hub.core.services import ServiceRegistry
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.security.people import People

if TYPE_CHECKING:
    from hub.automation.running.run import Run
    from hub.automation.schedule.timetable import Timetable
    from hub.automation.sources.file_watch import FileWatch
    from hub.automation.sources.sentence_matcher import Sentences
    from hub.automation.sources.webhooks import Webhooks
    from hub.security.egress import Egress
    from hub.storage.history import HistoryStore
    from hub.template.engine import TemplateEngine


class Mode(StrEnum):
    """What happens when an automation is triggered while it still runs."""

    SINGLE = "single"
    RESTART = "restart"
    QUEUED = "queued"
    PARALLEL = "parallel"


class StepOutcome(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    """A `stop` step, or a condition among the actions that did not hold."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """Restarted, turned off, or its definition was taken away."""
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    """An approval was refused, or nobody gave it in time."""
    INTERRUPTED = "interrupted"
    """The hub stopped in the middle of something that cannot be taken up again."""


class NotRun(StrEnum):
    """Why a trigger fired and nothing ran."""

    CONDITIONS = "conditions"
    PAUSED = "paused"
    MODE = "mode"
    """It runs already (`single`), or as many as `max` do."""
    RATE_LIMIT = "rate_limit"
    BUDGET = "budget"
    MISSED = "missed"
    """It was due while the hub was down or the machine slept, and `catch_up` lets it go."""
    ERROR = "error"
    """A condition or a variable could not be evaluated."""


class Location(Struct, frozen=True):
    """Where the home is, in degrees and metres."""

    latitude: float
    longitude: float
    elevation_m: float = 0.0


class SentenceQuestion(Struct, frozen=True):
    """What an `agent` condition asks a model.

    Attributes:
        text: The question, rendered.
        answers: `yes_no`, `score` (0 to 1), or the choices.
        agent: Whose model and persona answer; None for the default agent.
        model: Instead of the agent's.
        data: What the question is about: words from outside, quoted as such.
        automation_id: Whose condition asks; what it costs is counted as this automation's.
    """

    text: str
    answers: str | tuple[str, ...]
    agent: str | None = None
    model: str | None = None
    timeout_s: float = 60.0
    data: str = ""
    automation_id: str | None = None


class SentenceAnswer(Struct, frozen=True):
    """What the model said: True/False, a score, or one of the choices; with its reason and what it cost."""

    value: bool | float | str
    reason: str = ""
    model: str | None = None
    cost_usd: float | None = None


Judge = Callable[[SentenceQuestion, Context], Awaitable[SentenceAnswer]]


class RunSpending(Protocol):
    """What was spent lately; in memory, so that a condition may ask at every trigger."""

    def cost_usd(self, *, since: float, agent: str | None = None, automation: str | None = None) -> float:
        """Return dollars since a time (seconds since the epoch), of an agent or of the runs of an automation."""
        ...

    def tokens(self, *, since: float, agent: str | None = None, automation: str | None = None) -> int:
        """Return tokens since a time."""
        ...


class AutomationParts(Struct, frozen=True):
    """What the engine is handed; a backtest hands the same engine a bus, states and a clock of its own.

    Attributes:
        home: The home directory; triggers on files see only what is in it.
        zone: The home's time zone as configured now.
        location: Where the home is, when that is configured.
        people: The people of this home as configured now.
        judge: Asks a model; None where none may be asked (simulation).
        spending: What was spent; None where nothing is known.
        history: Where traces are kept; None in a simulation.
        webhooks: The webhooks that triggers wait for; None where none can come in.
        sentences: The sentences that triggers answer; None where nobody speaks.
        egress: Fetches what is outside; None where nothing may be fetched.
        files: Watches files; None where there are none.
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
    judge: Judge | None = None
    spending: RunSpending | None = None
    history: HistoryStore | None = None
    webhooks: Webhooks | None = None
    sentences: Sentences | None = None
    egress: Egress | None = None
    files: FileWatch | None = None


# --- triggers ---


class Firing(Struct, frozen=True):
    """One trigger that fired.

    Attributes:
        trigger: What templates see as `trigger`: platform, id, idx, alias, description and what its kind adds.
        context: Why it fired; None when time alone did.
        tainted: Whether what it carries comes from outside (webhooks, feeds, messages of strangers, MQTT).
        planned: For schedules: when it was due, seconds since the epoch.
        missed: Earlier occurrences that this one stands for or that were let go.
        skipped: It was due too long ago and is not to run; it is only told.
        variables: Variables of this trigger (its `variables` key), as they stand.
        given: Variables that whoever set it off hands over: plain values, never rendered.
        key: What the planned time is remembered under once it is handled; empty where nothing is made up for.
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
    """What an armed trigger stands on."""

    @property
    def parts(self) -> AutomationParts: ...

    @property
    def automation_id(self) -> str: ...

    @property
    def index(self) -> str:
        """The trigger's place, `0`, `1`, or `1/0` in a nested list; stable until the automation is edited."""
        ...

    @property
    def variables(self) -> Mapping[str, Any]:
        """`trigger_variables`, rendered when it was armed."""
        ...

    @property
    def templates(self) -> bool:
        """Whether text may hold templates; false where text is only text: then nothing is rendered."""
        ...

    @property
    def catch_up(self) -> Mapping[str, Any]:
        """`{"mode": none | last | all, "within": seconds}`; schedules hand it to the timetable."""
        ...

    def armed(self) -> float | None:
        """Return since when it is armed as it stands in the file (it survives restarts), or None when just now."""
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
        """Tell that it fired; `platform`, `id`, `idx`, `alias` are added. Returns at once and never raises."""
        ...

    def fail(self, message: str) -> None:
        """Tell that it cannot watch (any more): a repair of this automation says so; other triggers go on."""
        ...


Arm = Callable[[Mapping[str, Any], TriggerHost], Unsubscribe]
Explain = Callable[[Mapping[str, Any]], str]
Rule = Callable[[dict[str, Any]], dict[str, Any]]


class TriggerKind(Struct, frozen=True):
    """A kind of trigger.

    Attributes:
        name: The word behind `trigger:`.
        fields: Schema of its own keys; `trigger`, id, alias, enabled and variables are added to every kind.
        arm: Begins to watch, with a validated configuration; returns what ends it. Called on the event loop, must not
            wait; what takes long is a task of `site.parts.tasks`.
        explain: Says in plain words when it fires: "when light.kitchen turns on".
        description: One line for documentation and the editor.
        next_due: For schedules: when it fires next, seconds since the epoch; asked of the armed configuration.
        rule: Checks across keys, behind the schema; raises `Invalid`.
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
    """Whether a condition holds, and why (not), for people.

    Attributes:
        reason: "light.kitchen is off, not on".
        details: What was compared, for the trace.
        children: Verdicts of what it is made of, by path below it.
    """

    holds: bool
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    children: Mapping[str, ConditionVerdict] = field(default_factory=dict)


class Asking(Struct, frozen=True):
    """Who asks whether a condition holds: the parts, the variables (with `trigger`), the authority.

    `templates` is false where text is only text (what a model wrote): then nothing is rendered.
    """

    parts: AutomationParts
    variables: Mapping[str, Any]
    context: Context
    automation_id: str
    templates: bool = True


class ConditionKind(Struct, frozen=True):
    """A kind of condition.

    Attributes:
        name: The word behind `condition:`.
        fields: Schema of its own keys; `condition`, alias and enabled are added to every kind.
        check: Whether it holds now; raises `HubError` when that cannot be said. Exactly one of the two is given:
            `check` where it can be said at once, `check_later` where something must be waited for.
        explain: Says it in plain words: "light.kitchen is on".
    """

    name: str
    fields: Mapping[Any, Any]
    explain: Explain
    description: str
    check: Callable[[Mapping[str, Any], Asking], ConditionVerdict] | None = None
    check_later: Callable[[Mapping[str, Any], Asking], Awaitable[ConditionVerdict]] | None = None
    rule: Rule | None = None


# --- actions ---


class ActionKind(Struct, frozen=True):
    """A kind of step.

    Attributes:
        name: The key that tells it from others: `action`, `delay`, `choose`, …
        fields: Schema of all its keys; alias, enabled and continue_on_error are added to every kind.
        run: Runs the step; `hub.automation.running.run.Run` is what it may ask of its run. Cancelling undoes nothing.
        explain: Says in plain words what it does.
    """

    name: str
    fields: Mapping[Any, Any]
    run: Callable[[Mapping[str, Any], Run, str], Awaitable[None]]
    explain: Explain
    description: str
    rule: Rule | None = None
