"""Evaluation of conditions: and, or, not over the kinds of `hub.automation.conditions`, at once or with waiting.

The rules are those of Home Assistant: what is not enabled does not count, and an error counts only where the others
do not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict
from hub.automation.definition.kinds import Kinds
from hub.automation.definition.phrases import all_of
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import SchemaError, describe_error
from hub.template.native import as_bool

Condition = Mapping[str, Any]
_Question = tuple[Condition, ConditionKind, str]
_Questions = Generator[_Question, ConditionVerdict, ConditionVerdict]

LOGIC = frozenset({"and", "or", "not"})
DISABLED = ConditionVerdict(True, phrase("it is not enabled"), {"enabled": False})
_HELD = phrase("all are true")


class ConditionError(HubError):
    """A condition cannot be evaluated; `details.path` is its position, `details.children` the results so far."""

    code = "CONDITION_ERROR"

    def __init__(self, message: str, path: str, children: Mapping[str, ConditionVerdict] | None = None) -> None:
        super().__init__(phrase("{place}: {text}", place=path, text=message), details={"path": path})
        self.path = path
        self.plain = message
        self.children = dict(children or {})
        """Verdicts that were reached before, by path below the conditions that were asked."""


def is_sync(conditions: Sequence[Condition], kinds: Kinds) -> bool:
    """Whether all of these can be checked at once, without waiting for a model or anything else."""
    return all(kinds.condition(each["condition"]).check is not None for each in _leaves(conditions))


def evaluate(condition: Condition, asking: ConditionContext, path: str = "condition") -> ConditionVerdict:
    """Return whether a condition holds now.

    Args:
        condition: Validated; `is_sync([condition], …)` must be true.
        path: Its position, for errors.

    Raises:
        ConditionError: It cannot be evaluated.
    """
    return _at_once(_ask(condition, asking, path), asking)


async def evaluate_later(condition: Condition, asking: ConditionContext, path: str = "condition") -> ConditionVerdict:
    """Like `evaluate`, for any condition. Cancellation ends the wait."""
    return await _later(_ask(condition, asking, path), asking)


def check_all(conditions: Sequence[Condition], asking: ConditionContext, path: str = "condition") -> ConditionVerdict:
    """Return whether all conditions hold, stopping at the first that does not.

    Returns:
        A verdict with the verdicts of the conditions, by their index, as children; its reason is that of the first that
        does not hold.

    Raises:
        ConditionError: A condition cannot be evaluated, and the others do not decide the result.
    """
    return _at_once(_all(conditions, asking, path, ""), asking)


async def check_all_later(
    conditions: Sequence[Condition], asking: ConditionContext, path: str = "condition"
) -> ConditionVerdict:
    """Like `check_all`, for any conditions. Cancellation ends the wait."""
    return await _later(_all(conditions, asking, path, ""), asking)


def _leaves(conditions: Sequence[Condition]) -> Iterator[Condition]:
    for each in conditions:
        if each["condition"] in LOGIC:
            yield from _leaves(each["conditions"])
        else:
            yield each


# --- asking: generators yield what a kind is to be asked, and are sent its verdict ---


def _at_once(questions: _Questions, asking: ConditionContext) -> ConditionVerdict:
    try:
        condition, kind, path = next(questions)
        while True:
            try:
                if kind.check is None:
                    raise ConditionError(
                        f"the condition {kind.name} takes time to evaluate, which is not possible here", path
                    )
                verdict = kind.check(condition, asking)
            except (HubError, SchemaError) as error:
                condition, kind, path = questions.throw(_told(error, path))
            else:
                condition, kind, path = questions.send(verdict)
    except StopIteration as end:
        found: ConditionVerdict = end.value
        return found


async def _later(questions: _Questions, asking: ConditionContext) -> ConditionVerdict:
    try:
        condition, kind, path = next(questions)
        while True:
            try:
                if kind.check is not None:
                    verdict = kind.check(condition, asking)
                elif kind.check_later is not None:
                    verdict = await kind.check_later(condition, asking)
                else:
                    raise ConditionError(f"the condition {kind.name} cannot be evaluated here", path)
            except (HubError, SchemaError) as error:
                condition, kind, path = questions.throw(_told(error, path))
            else:
                condition, kind, path = questions.send(verdict)
    except StopIteration as end:
        found: ConditionVerdict = end.value
        return found


def _told(error: Exception, path: str) -> ConditionError:
    if isinstance(error, ConditionError):
        return error
    if isinstance(error, SchemaError):
        return ConditionError(describe_error(error), path)
    return ConditionError(error.message if isinstance(error, HubError) else str(error), path)


def _ask(condition: Condition, asking: ConditionContext, path: str) -> _Questions:
    if not _is_enabled(condition.get("enabled", True), asking, path):
        return DISABLED
    match condition["condition"]:
        case "and":
            return (yield from _all(condition["conditions"], asking, path, "conditions/"))
        case "or":
            return (yield from _any(condition["conditions"], asking, path))
        case "not":
            return (yield from _none(condition["conditions"], asking, path))
        case name:
            verdict: ConditionVerdict = yield condition, asking.parts.kinds.condition(name), path
            return verdict


def _is_enabled(enabled: bool | str, asking: ConditionContext, path: str) -> bool:
    if isinstance(enabled, bool):
        return enabled
    try:
        return as_bool(asking.render(enabled))
    except HubError as error:
        raise ConditionError(f"enabled: {error.message}", path) from error


def _all(conditions: Sequence[Condition], asking: ConditionContext, path: str, below: str) -> _Questions:
    failing, children = yield from _until(_fails, conditions, asking, f"{path}/", below)
    if failing is not None:
        return ConditionVerdict(False, failing.reason, children=children)
    return ConditionVerdict(True, children[f"{below}0"].reason if len(children) == 1 else _HELD, children=children)


def _any(conditions: Sequence[Condition], asking: ConditionContext, path: str) -> _Questions:
    holding, children = yield from _until(_holds, conditions, asking, f"{path}/", "conditions/")
    if holding is not None:
        return ConditionVerdict(True, holding.reason, children=children)
    return ConditionVerdict(False, _reasons(children) or phrase("it has no conditions"), children=children)


def _none(conditions: Sequence[Condition], asking: ConditionContext, path: str) -> _Questions:
    holding, children = yield from _until(_holds, conditions, asking, f"{path}/", "conditions/")
    if holding is not None:
        return ConditionVerdict(False, phrase("{reason}, but must not be", reason=holding.reason), children=children)
    return ConditionVerdict(True, _reasons(children) or phrase("it has no conditions"), children=children)


def _until(
    decides: Callable[[ConditionVerdict], bool],
    conditions: Sequence[Condition],
    asking: ConditionContext,
    path: str,
    below: str,
) -> Generator[_Question, ConditionVerdict, tuple[ConditionVerdict | None, dict[str, ConditionVerdict]]]:
    """Return the first decisive verdict, if any, and all that were reached."""
    children: dict[str, ConditionVerdict] = {}
    failed: ConditionError | None = None
    for index, condition in enumerate(conditions):
        place = f"{below}{index}"
        try:
            verdict = yield from _ask(condition, asking, path + place)
        except ConditionError as error:
            failed = failed or error
            continue
        children[place] = verdict
        if decides(verdict):
            return verdict, children
    if failed is not None:
        raise _with(failed, children)
    return None, children


def _fails(verdict: ConditionVerdict) -> bool:
    return not verdict.holds


def _holds(verdict: ConditionVerdict) -> bool:
    return verdict.holds and verdict is not DISABLED


def _reasons(children: Mapping[str, ConditionVerdict]) -> str:
    return all_of(each.reason for each in children.values() if each is not DISABLED)


def _with(error: ConditionError, children: Mapping[str, ConditionVerdict]) -> ConditionError:
    return ConditionError(error.plain, error.path, children)
