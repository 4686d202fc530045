"""`automation.test|backtest|explain`: what an automation would do, would have done, and means; without effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.automation.methods.automations import NAME, ONE
from hub.core.errors import InvalidRequest
from hub.core.schema import All, AnyOf, Length, Optional, Required, Schema, string
from hub.core.surfaces import READ, WRITE, Method, MethodCall
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
        return [
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
            raise InvalidRequest("since: it is after until")
        if until - since > BACKTEST_LIMIT_S:
            raise InvalidRequest(f"since: at most {BACKTEST_LIMIT_S / 86_400:g} days are looked at")
        return self._shown(await self._engine.backtest(params["id"], since, until))

    async def _explain(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["id"]
        text = self._redactor.redact(self._engine.explain(name))
        return {"id": name if name.startswith("script.") else self._engine.automations.status(name).id, "text": text}

    def _moment(self, text: str, key: str) -> float:
        return moment(text, self._engine.parts.clock.time(), self._engine.parts.zone(), key)

    def _shown(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        shown: dict[str, Any] = as_json(self._redactor.redact_data(told))
        return shown
