"""`automation.test|backtest|explain|draft|try`: what an automation would do, did, means; drafts; one card alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.automation.methods.automations import NAME, ONE
from hub.core.errors import InvalidRequest
from hub.core.schema import (
    All,
    AnyOf,
    Exclusive,
    Length,
    Optional,
    Required,
    Schema,
    SchemaError,
    describe_error,
    string,
)
from hub.core.surfaces import ADMIN, READ, WRITE, Method, MethodCall
from hub.gateway.calls.acting import call_context
from hub.gateway.calls.moments import moment
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

if TYPE_CHECKING:
    from hub.automation.assembly import AutomationEngine

OWNER = "gateway"
BACKTEST_LIMIT_S = 31 * 86_400.0

_MOMENT = AnyOf(None, All(string, Length(min=1, max=64)))


class AutomationTrials:
    """The methods that try an automation.

    Args:
        engine: The engine.
        redactor: Removes secrets from displayed text.
    """

    def __init__(self, engine: AutomationEngine, redactor: Redactor) -> None:
        self._engine = engine
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        test = Schema(
            {
                **ONE.schema,
                Optional("trigger", description="Which trigger: its id, its place, or what it tells."): AnyOf(
                    None, plain_mapping, NAME
                ),
                Optional("at", description="When, in ISO 8601; now without it."): _MOMENT,
                Optional("variables", default=dict, description="Over its own."): plain_mapping,
            }
        )
        backtest = Schema(
            {
                **ONE.schema,
                Required("since", description="From when, in ISO 8601, or how long ago: 7d."): _MOMENT,
                Optional("until", description="To when; now without it."): _MOMENT,
            }
        )
        draft = Schema(
            {
                Required("text", description="One sentence: when, perhaps only if, and what."): All(
                    string, Length(min=1, max=4_000)
                )
            }
        )
        attempt = Schema(
            {
                Exclusive("trigger", "card", description="Tells what it would hand over."): plain_mapping,
                Exclusive("condition", "card", description="Tells whether it holds now."): AnyOf(plain_mapping, string),
                Exclusive("action", "card", description="Is run, for real."): plain_mapping,
            }
        )
        return [
            Method("automation.draft", self._draft, OWNER, draft, ADMIN),
            Method("automation.try", self._try, OWNER, attempt, ADMIN, acts=True),
            Method("automation.test", self._test, OWNER, test, WRITE),
            Method("automation.backtest", self._backtest, OWNER, backtest, WRITE),
            Method("automation.explain", self._explain, OWNER, ONE, READ),
        ]

    async def _test(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        at, trigger, variables = params.get("at"), params.get("trigger"), params["variables"]
        if isinstance(trigger, dict):
            trigger, variables = None, {**variables, "trigger": trigger}
        when = None if at is None else self._moment(at, "at")
        told = await self._engine.simulate(params["id"], trigger=trigger, at=when, variables=variables)
        return self._shown(told)

    async def _backtest(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        since = self._moment(params["since"] or "7d", "since")
        until = (
            self._engine.parts.clock.time() if params.get("until") is None else self._moment(params["until"], "until")
        )
        if since >= until:
            raise InvalidRequest("since: expected a time before until")
        if until - since > BACKTEST_LIMIT_S:
            raise InvalidRequest(f"since: at most {BACKTEST_LIMIT_S / 86_400:g} days are searched")
        return self._shown(await self._engine.backtest(params["id"], since, until))

    async def _explain(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["id"]
        text = self._redactor.redact(self._engine.explain(name))
        return {"id": name if name.startswith("script.") else self._engine.automations.status(name).id, "text": text}

    async def _draft(self, call: MethodCall) -> Mapping[str, Any]:
        return self._shown((await self._engine.draft(call.params["text"])).as_dict())

    async def _try(self, call: MethodCall) -> Mapping[str, Any]:
        from hub.automation.trial.card import names_a_secret, try_action, try_condition, try_trigger

        params, parts = call.params, self._engine.parts
        if names_a_secret(params):
            raise InvalidRequest("only saved automations can use secrets; save this one, then run all of it")
        try:
            with parts.kinds.in_use():
                match params:
                    case {"trigger": trigger}:
                        return self._shown({"told": try_trigger(trigger, parts)})
                    case {"condition": condition}:
                        verdict = await try_condition(condition, parts, call_context(call))
                        return self._shown({"holds": verdict.holds, "reason": verdict.reason})
                    case {"action": action}:
                        return self._shown(await try_action(action, parts, call_context(call)))
        except SchemaError as error:
            raise InvalidRequest(describe_error(error)) from error
        raise InvalidRequest("give one of trigger, condition and action")

    def _moment(self, text: str, key: str) -> float:
        return moment(text, self._engine.parts.clock.time(), self._engine.parts.zone(), key)

    def _shown(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        shown: dict[str, Any] = as_json(self._redactor.redact_data(told))
        return shown
