"""`repeat`: a number of times, for each of several things, while or until conditions hold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import conditions, dynamic, dynamic_text, is_template, sequence
from hub.automation.definition.kinds import kinds_in_use
from hub.automation.definition.phrases import all_of
from hub.core.errors import InvalidRequest, LimitExceeded
from hub.core.phrases import phrase
from hub.core.schema import All, AnyOf, Invalid, Optional, Range, Required, Schema, integer
from hub.core.secret import SecretInt, SecretText

ITERATIONS_LIMIT = 10_000
"""A `while` or `until` that has not ended by then never will."""
COUNT_LIMIT = 100_000

_FORMS = ("count", "for_each", "while", "until")


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    repeat = step["repeat"]
    if "count" in repeat or "for_each" in repeat:
        await _repeat_known(repeat, run, path)
    else:
        await _repeat_asking(repeat, run, path)


async def _repeat_known(repeat: Mapping[str, Any], run: StepRun, path: str) -> None:
    """Repeat a number of times that is known at the start."""
    state = run.resume(path)
    if state is None:
        items = await _items(repeat, run)
        state = {"index": 0, "items": items, "count": len(items) if items is not None else await _count(repeat, run)}
        run.note(path, state)
    items, count = state["items"], state["count"]
    inner = run.fork(path, {})
    for index in range(state["index"], count):
        told: dict[str, Any] = {"first": index == 0, "index": index + 1, "last": index == count - 1}
        if items is not None:
            told["item"] = items[index]
        await _once(repeat, inner, told, path)
        _next(run, path, {"index": index + 1, "items": items, "count": count})
        await asyncio.sleep(0)
    run.tell(iterations=count)


async def _repeat_asking(repeat: Mapping[str, Any], run: StepRun, path: str) -> None:
    """Repeat while conditions hold (checked before each time), or until they hold (checked after each time)."""
    form = "while" if "while" in repeat else "until"
    index, inside = run.resume(path) or (0, False)
    inner = run.fork(path, {})
    while True:
        told = {"first": index == 0, "index": index + 1}
        if not inside:
            inner.scope.local["repeat"] = told
            if form == "while" and not await inner.holds(repeat["while"], f"{path}/repeat/while"):
                break
            run.note(path, [index, True])
        await _once(repeat, inner, told, path)
        if form == "until" and await inner.holds(repeat["until"], f"{path}/repeat/until"):
            index += 1
            break
        index += 1
        inside = False
        _next(run, path, [index, False])
        await asyncio.sleep(0)
        if index >= ITERATIONS_LIMIT:
            raise LimitExceeded(f"it was repeated {ITERATIONS_LIMIT} times and its `{form}` never ended it")
    run.tell(iterations=index)


async def _once(repeat: Mapping[str, Any], inner: StepRun, told: dict[str, Any], path: str) -> None:
    inner.scope.local["repeat"] = told
    await inner.sequence(repeat["sequence"], f"{path}/repeat/sequence")


def _next(run: StepRun, path: str, state: Any) -> None:
    """Finish one iteration: both changes happen at once, so that no save sees only one of them."""
    run.leave(f"{path}/repeat/sequence")
    run.note(path, state)


async def _items(repeat: Mapping[str, Any], run: StepRun) -> list[Any] | None:
    if "for_each" not in repeat:
        return None
    items = await run.render_later(repeat["for_each"])
    if not isinstance(items, (list, tuple)):
        raise InvalidRequest(f"repeat.for_each: expected a list, got {type(items).__name__}")
    if len(items) > COUNT_LIMIT:
        raise LimitExceeded(f"repeat.for_each: {len(items)} items, but at most {COUNT_LIMIT} are repeated")
    return list(items)


async def _count(repeat: Mapping[str, Any], run: StepRun) -> int:
    given = await run.render_later(repeat["count"])
    try:
        count = int(given)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"repeat.count: expected a whole number, got {given!r}") from error
    if count > COUNT_LIMIT:
        raise LimitExceeded(f"repeat.count: {count} times are more than {COUNT_LIMIT}")
    return max(count, 0)


def _explain(step: Mapping[str, Any]) -> str:
    repeat = step["repeat"]
    steps = phrase("do {count} actions", count=len(repeat["sequence"]))
    if "count" in repeat:
        return phrase("{steps} {count} times", steps=steps, count=repeat["count"])
    if "for_each" in repeat:
        return phrase("{steps} for each of {items}", steps=steps, items=repeat["for_each"])
    form = "while" if "while" in repeat else "until"
    test = all_of(kinds_in_use().condition(each["condition"]).explain(each) for each in repeat[form])
    if form == "while":
        return phrase("{steps} while {condition}", steps=steps, condition=test)
    return phrase("{steps} until {condition}", steps=steps, condition=test)


_COUNT = Schema(All(integer, Range(min=0, max=COUNT_LIMIT)))


def _a_count(value: Any) -> Any:
    if is_template(value):
        return dynamic_text(value)
    if isinstance(value, str) and value.isdigit():
        value = SecretInt(value) if isinstance(value, SecretText) else int(value)
    return _COUNT(value)


def _one_form(value: dict[str, Any]) -> dict[str, Any]:
    forms = [form for form in _FORMS if form in value]
    if len(forms) != 1:
        raise Invalid(phrase("expected exactly one of {names}", names=", ".join(_FORMS)))
    return value


_REPEAT = Schema(
    {
        Optional("count", description="How often, or a template of it."): _a_count,
        Optional("for_each", description="A list, or a template of one; `repeat.item` is each of them."): AnyOf(
            [dynamic], dynamic_text
        ),
        Optional("while", description="Asked before each time."): conditions,
        Optional("until", description="Asked after each time."): conditions,
        Required("sequence", description="What is repeated."): sequence,
    }
)

KIND = ActionKind(
    name="repeat",
    fields={Required("repeat", description="What is repeated, and how often."): All(_REPEAT, _one_form)},
    run=_run,
    explain=_explain,
    description="Repeat actions.",
    effect=False,
)
