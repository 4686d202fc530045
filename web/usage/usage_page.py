"""The page of usage: a chart of the days in stacked parts, their sums, budgets, and a table to download."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.core.surfaces import HttpCall
from hub.sessions.usage_sums import NOTHING
from web.agents.model_names import ModelNames
from web.core.formats import money
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer
from web.core.texts import BUDGET_PERIODS, USAGE_PARTS
from web.usage.chart import stack_rows

PATH = "/agents/usage"
SPANS = (7, 30, 90)
DEFAULT_DAYS = 30
LINE_UP_TO = 5
"""How many times the largest day a budget may be, to be drawn as a line: above that, days could not be told apart."""
BY = ("model", "agent", "automation", "channel")
COLUMNS = (
    *("day", "agent_id", "model", "calls", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "cost_usd"),
)


class UsagePage:
    """The page and its table.

    Args:
        client: Calls the methods for usage and models.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/usage[?days=7|30|90]`: the page."""
        return await self._show(call)

    async def table(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/usage.csv[?days=…]`: the sums by day, agent and model."""
        days = _days(call)
        rows = (await self._client.ask(call, "models.usage", {"days": days}))["rows"]
        name = f"usage-{self._renderer.today().isoformat()}.csv"
        return web.Response(
            body=csv_of(rows).encode(),
            content_type="text/csv",
            charset="utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
        )

    async def _show(self, call: HttpCall) -> web.StreamResponse:
        days, by = _days(call), _by(call)
        found = await self._client.ask(call, "models.usage", {"days": days, "by": by})
        each_day = await self._client.ask(call, "models.usage", {"days": days, "by": by, "each_day": True})
        status = await self._client.ask(call, "models.status")
        measure = "cost_usd" if found["total"]["cost_usd"] else "tokens"
        chart = stack_rows(each_day["rows"], by, measure, days, self._renderer.today())
        names = await self._names(call, by, {row[by] for row in found["rows"]})
        data = {
            "days": days,
            "by": by,
            "spans": [{"days": span, "path": f"{PATH}?days={span}&by={by}"} for span in SPANS],
            "parts": [{"by": each, "title": USAGE_PARTS[each], "path": f"{PATH}?days={days}&by={each}"} for each in BY],
            "csv": f"{PATH}.csv?days={days}",
            "priced": measure == "cost_usd",
            "values": chart.values,
            "legend": [NOTHING if each == NOTHING else names.get(each or "", each) for each in chart.names],
            "texts": [f"{day}: {_amount(measure, sum(of))}" for day, of in zip(chart.days, chart.values, strict=True)],
            "limit": day_limit(status["budgets"], measure, max(map(sum, chart.values))),
            "first": chart.days[0],
            "last": chart.days[-1],
            "total": _shown(found["total"]),
            "rows": [
                {**_shown(each), "name": None if each[by] == NOTHING else names.get(each[by], each[by])}
                for each in found["rows"]
            ],
            "budgets": [_budget(each, spent) for each in status["budgets"] for spent in each["spent"] or [{}]],
        }
        return await self._renderer.respond(call, RenderedPage("usage", "Usage", data, PATH))

    async def _names(self, call: HttpCall, by: str, used: Collection[str]) -> dict[str, str]:
        """Return how people call what is summed."""
        if by == "model":
            words = catalogue(self._renderer.preferences(call).language)
            names = await ModelNames.of(self._client, call, words.gettext)
            return {ref: names.with_key(ref) for ref in used}
        if by == "agent":
            agents = (await self._client.ask(call, "agents.list"))["agents"]
            return {each["id"]: each.get("name") or each["id"] for each in agents}
        if by == "automation":
            found = (await self._client.ask(call, "automation.list"))["automations"]
            return {each["id"]: each["alias"] for each in found}
        if by == "channel":
            return dict((await self._client.ask(call, "channels.status"))["channelLabels"])
        return {}


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV (RFC 4180); a text that a spreadsheet would read as a formula begins with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return file.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


def _days(call: HttpCall) -> int:
    asked = call.request.query.get("days", "")
    return int(asked) if asked in {str(span) for span in SPANS} else DEFAULT_DAYS


def _by(call: HttpCall) -> str:
    asked = call.request.query.get("by", "")
    return asked if asked in BY else BY[0]


def _budget(budget: Mapping[str, Any], spent: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far a budget is used, by the limit that is nearest."""
    measure = max(budget["limits"], key=lambda name: spent.get(name, 0) / (budget["limits"][name] or 1))
    limit, used = budget["limits"][measure], spent.get(measure, 0)
    return {
        "per": BUDGET_PERIODS[budget["per"]],
        "name": spent.get("name") or budget["only"] or "",
        "measure": measure,
        "used": _amount(measure, used),
        "limit": _amount(measure, limit),
        "share": min(1.0, used / limit) if limit else 1.0,
    }


def _shown(each: Mapping[str, Any]) -> dict[str, Any]:
    cost = each["cost_usd"]
    return {
        **each,
        "calls": f"{each['calls']:,}",
        "tokens": f"{each['tokens']:,}",
        "cost": "–" if cost is None else money(cost),
    }


def _amount(measure: str, value: float) -> str:
    if measure != "cost_usd":
        return f"{value:,.0f}"
    return money(value)


def day_limit(budgets: Sequence[Mapping[str, Any]], measure: str, most: float) -> float | None:
    """Return what the whole home may use a day; None without such a budget, and where days are far below it."""
    limits = [each["limits"][measure] for each in budgets if each["per"] == "day" and measure in each["limits"]]
    return next((each for each in sorted(limits) if each <= most * LINE_UP_TO), None)
