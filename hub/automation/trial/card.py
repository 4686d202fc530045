"""Tries one card of an automation alone: whether a condition holds, the data of a trigger, one action for real."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.automation.contract import ConditionContext, ConditionVerdict
from hub.automation.definition.grammar import automation as grammar
from hub.automation.engine.parts import AutomationParts
from hub.automation.running.evaluate import evaluate, evaluate_later, is_sync
from hub.automation.running.execute import execute
from hub.automation.running.plan import RunPlan
from hub.automation.running.run import RunState
from hub.automation.tracing.trace import plain_value
from hub.automation.trial.simulation import trigger_data
from hub.core.context import Context, system_context
from hub.core.errors import TimedOut
from hub.core.secret import SecretMask

TRIED = "card"
"""Stands for the id of an automation that is not written yet."""
RUN_LIMIT_S = 60.0
_TAG = "!secret "


def holds_now(condition: Mapping[str, Any], parts: AutomationParts, id: str = TRIED) -> ConditionVerdict | None:
    """Return whether a condition holds now; None when only a model or something else that takes time could tell.

    Args:
        condition: Validated.
        id: The id of its automation.

    Raises:
        ConditionError: It cannot be evaluated.
    """
    if not is_sync([condition], parts.kinds):
        return None
    return evaluate(condition, _asking(parts, id, system_context()))


async def try_condition(condition: Any, parts: AutomationParts, context: Context, id: str = TRIED) -> ConditionVerdict:
    """Return whether a condition holds now; a model is asked where the condition asks one.

    Args:
        condition: The condition as written.
        context: Whose authority its templates have.

    Raises:
        SchemaError: It is not valid.
        ConditionError: It cannot be evaluated.
    """
    (valid,) = grammar({"triggers": [], "conditions": [condition], "actions": []})["conditions"]
    return await evaluate_later(valid, _asking(parts, id, context))


def try_trigger(trigger: Any, parts: AutomationParts) -> dict[str, Any]:
    """Return the data of a trigger, as far as it is known beforehand.

    Args:
        trigger: The trigger as written.

    Raises:
        SchemaError: It is not valid.
    """
    config = {**grammar({"triggers": [trigger], "actions": []}), "id": TRIED}
    told = trigger_data(config, parts, "0")
    shown: dict[str, Any] = plain_value(told, SecretMask(config))
    return shown


async def try_action(action: Any, parts: AutomationParts, context: Context) -> dict[str, Any]:
    """Run one action for real.

    Args:
        action: The action as written; a secret in it is not known here and is refused.
        context: The cause and the rights.

    Returns:
        `{"outcome", "error"}`.

    Raises:
        SchemaError: It is not valid.
        TimedOut: It was not done within a minute; it was ended.
    """
    config = {**grammar({"alias": TRIED, "triggers": [], "actions": [action]}), "id": TRIED}
    run = RunState(RunPlan.of_automation(TRIED, config), parts, context.child(), variables={"this": None}, trigger={})
    try:
        async with asyncio.timeout(RUN_LIMIT_S):
            ended = await execute(run)
    except TimeoutError as error:
        raise TimedOut(f"it did not finish within {RUN_LIMIT_S:g} s and was stopped") from error
    return {"outcome": ended.outcome.value, "error": ended.error}


def names_a_secret(value: Any) -> bool:
    """Whether something as written names a secret, which is known only where the automation is loaded."""
    if isinstance(value, str):
        return value.startswith(_TAG)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(names_a_secret, inner))


def _asking(parts: AutomationParts, id: str, context: Context) -> ConditionContext:
    return ConditionContext(replace(parts, history=None), {"this": None, "trigger": {}}, context, id)
