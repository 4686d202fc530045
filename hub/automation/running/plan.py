"""A run's plan: the validated actions of an automation or a script, and what is precomputed from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import Struct

from hub.automation.contract import Act, Mode
from hub.automation.definition.kinds import Kinds
from hub.automation.definition.values import is_template
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import Invalid
from hub.core.secret import SecretMask

if TYPE_CHECKING:
    from hub.template.compiled_value import CompiledValue
    from hub.template.engine import TemplateEngine

Steps = Sequence[Mapping[str, Any]]

AUTOMATION = "automation"
SCRIPT = "script"

PERSISTED_WAIT_S = 60.0
"""A run with a delay or a wait that is longer survives a restart unless the configuration says otherwise."""


class Step(Struct, frozen=True):
    """One parsed step: its kind, and the keys that every kind has."""

    config: Mapping[str, Any]
    run: Act
    enabled: bool | str
    continue_on_error: bool
    effect: bool


class Retry(Struct, frozen=True):
    """Retry of a failed run, up to `attempts` times; each delay is `backoff` times the one before.

    Attributes:
        ladder: The delays, where they are not multiples.
        transient_only: Whether only a failure is retried that says so itself (`HubError.retryable`).
    """

    attempts: int
    delay_s: float = 10.0
    backoff: float = 2.0
    ladder: tuple[float, ...] = ()
    transient_only: bool = False

    def delay_before(self, attempt: int) -> float:
        """Return the seconds to wait before a further attempt, counted from 1."""
        if self.ladder:
            return self.ladder[attempt - 1]
        return self.delay_s * float(self.backoff ** (attempt - 1))

    def allows(self, attempts: int, failure: Exception | None) -> bool:
        """Whether a run is tried again after so many attempts and this failure."""
        if attempts >= self.attempts:
            return False
        return not self.transient_only or (isinstance(failure, HubError) and failure.retryable)


_LADDER = (30.0, 60.0, 300.0, 900.0, 3_600.0)
AGENT_RETRY = Retry(len(_LADDER) + 1, ladder=_LADDER, transient_only=True)
"""Of what only asks an agent at a time, and states no `retry`: a model that cannot be asked now may be asked later."""
_TIMES = frozenset({"at", "every", "cron", "time", "time_pattern", "sun"})


@dataclass(slots=True, eq=False)
class RunPlan:
    """Shared by all runs of one automation or script; recreated when its definition changes.

    Attributes:
        owner_kind: `automation` or `script`.
        owner_id: Its id; a script's key.
        alias: The alias shown to people.
        actions: Validated steps; not to be changed.
        config: The whole definition.
        persist: Whether its runs survive a restart of the hub.
        timeout_s: How long a run may take, seconds.
        on_error: `stop`, `continue`, or steps.
        templates: Whether text in it may hold templates.
    """

    owner_kind: str
    owner_id: str
    alias: str
    actions: Steps
    variables: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = Mode.SINGLE
    maximum: int = 10
    persist: bool = False
    timeout_s: float | None = None
    on_error: str | Steps = "stop"
    retry: Retry | None = None
    templates: bool = True
    _hash: str = field(default="", repr=False)
    _secrets: SecretMask | None = field(default=None, repr=False)
    _steps: dict[int, Step] = field(default_factory=dict, repr=False)
    _compiled: dict[int, tuple[Any, CompiledValue]] = field(default_factory=dict, repr=False)
    _static: dict[int, tuple[Any, bool]] = field(default_factory=dict, repr=False)
    memo: dict[int, tuple[Any, Any]] = field(default_factory=dict, repr=False)
    """What kinds of steps worked out of their configuration, by its identity; the configuration is kept with it."""

    @classmethod
    def of_automation(cls, owner_id: str, config: Mapping[str, Any]) -> RunPlan:
        """Return the plan of a validated automation."""
        return _plan(AUTOMATION, owner_id, config, config["actions"])

    @classmethod
    def of_script(cls, key: str, config: Mapping[str, Any]) -> RunPlan:
        """Return the plan of a validated script."""
        return _plan(SCRIPT, key, config, config["sequence"])

    @property
    def root(self) -> str:
        """The first part of the paths of its steps: `action` or `sequence`."""
        return "sequence" if self.owner_kind == SCRIPT else "action"

    @property
    def trace_id(self) -> str:
        """The owner of its traces: the id of the automation, or `script.<key>`."""
        return f"script.{self.owner_id}" if self.owner_kind == SCRIPT else self.owner_id

    @property
    def secrets(self) -> SecretMask:
        """The definition without its secrets, and the mask that hides them in traces."""
        if self._secrets is None:
            self._secrets = SecretMask(self.config)
        return self._secrets

    @property
    def definition_hash(self) -> str:
        """A hash of the definition; a stored run resumes only with the same one."""
        if not self._hash:
            self._hash = definition_hash(self.config)
        return self._hash

    def variables_beside(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the variables defined at the start of a run; arguments take precedence over those of a script."""
        if self.owner_kind != SCRIPT:
            return self.variables
        return {name: value for name, value in self.variables.items() if name not in given}

    def step(self, config: Mapping[str, Any], kinds: Kinds) -> Step:
        """Return a parsed step, cached from its first execution."""
        found = self._steps.get(id(config))
        if found is None:
            found = self._steps[id(config)] = _step(config, kinds)
        return found

    def is_static(self, value: Any) -> bool:
        """Whether a value of the configuration has no templates; mappings and lists are examined once."""
        if not isinstance(value, (str, dict, list)) or not self.templates:
            return True
        if isinstance(value, str):
            return not is_template(value)
        found = self._static.get(id(value))
        if found is None:
            each_value = value.values() if isinstance(value, dict) else value
            found = self._static[id(value)] = (value, all(self.is_static(each) for each in each_value))
        return found[1]

    def compile_value(self, value: Any, templates: TemplateEngine) -> CompiledValue:
        """Return a value of the configuration with compiled templates, cached from its first rendering."""
        found = self._compiled.get(id(value))
        if found is None:
            found = self._compiled[id(value)] = (value, templates.compile_value(value))
        return found[1]


def _step(config: Mapping[str, Any], kinds: Kinds) -> Step:
    key = kinds.step_key(config)
    if key is None:
        raise InvalidRequest("expected an action, with a key such as action, delay or choose")
    try:
        kind = kinds.action(key)
    except Invalid as error:
        raise InvalidRequest(error.msg) from error
    go_on = bool(config.get("continue_on_error", False))
    return Step(config, kind.run, config.get("enabled", True), go_on, kind.effect)


def _plan(owner_kind: str, owner_id: str, config: Mapping[str, Any], actions: Steps) -> RunPlan:
    retry = config.get("retry")
    persist = config.get("persist")
    return RunPlan(
        owner_kind,
        owner_id,
        str(config.get("alias") or owner_id),
        actions,
        config.get("variables") or {},
        config,
        Mode(config.get("mode", Mode.SINGLE)),
        int(config.get("max", 10)),
        waits_long(config) if persist is None else bool(persist),
        config.get("timeout"),
        config.get("on_error") or "stop",
        Retry(retry["attempts"], retry["delay"], retry["backoff"]) if retry else _default_retry(config, actions),
        bool(config.get("templates", True)),
    )


def _default_retry(config: Mapping[str, Any], actions: Steps) -> Retry | None:
    """Return the retry of an automation that states none: what an event asks an agent is of no use an hour later."""
    triggers = config.get("triggers") or ()
    by_time = bool(triggers) and all(each.get("trigger") in _TIMES for each in triggers)
    return AGENT_RETRY if by_time and len(actions) == 1 and actions[0].get("action") == "agent.run" else None


def waits_long(config: Mapping[str, Any]) -> bool:
    """Whether runs are kept over a restart by default: an `at` trigger, or a delay or wait of more than a minute."""
    if any(trigger.get("trigger") == "at" for trigger in config.get("triggers") or ()):
        return True
    steps = config.get("actions") or config.get("sequence") or ()
    return any(_waits_long(step) for step in each_step(steps))


def _waits_long(step: Mapping[str, Any]) -> bool:
    if "delay" in step:
        return _is_long(step["delay"])
    if "wait_template" in step or "wait_for_trigger" in step:
        return step.get("timeout") is None or _is_long(step["timeout"])
    return False


def _is_long(duration: Any) -> bool:
    return isinstance(duration, (int, float)) and duration > PERSISTED_WAIT_S


def each_step(steps: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all steps, nested ones too."""
    for step in steps:
        yield step
        for inner in _inner(step):
            yield from each_step(inner)


def _inner(step: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("then", "else", "default", "sequence"):
        yield step.get(key) or ()
    yield (step.get("repeat") or {}).get("sequence") or ()
    for key in ("choose", "parallel"):
        for branch in step.get(key) or ():
            yield branch.get("sequence") or ()


def definition_hash(config: Mapping[str, Any]) -> str:
    """Return a hash of the executable definition: it covers steps, variables and limits, not the name."""
    keys = ("actions", "sequence", "variables", "on_error", "retry", "timeout", "templates", "fields")
    told = {key: config[key] for key in keys if key in config}
    text = orjson.dumps(told, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(text).hexdigest()[:32]
