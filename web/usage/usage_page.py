"""The page of usage: a chart of the days, sums by model, a table to download, and a live test of each key."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from aiohttp import web

from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import ADMIN, HttpCall
from hub.sessions.usage_sums import summed
from web.core.form import read_fields
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, wants_json
from web.usage.chart import HEIGHT, WIDTH, bars, daily

PATH = "/agents/usage"
SPANS = (7, 30, 90)
DEFAULT_DAYS = 30
COLUMNS = (
    *("day", "agent_id", "model", "calls", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "cost_usd"),
)
TEST = Schema({Required("model"): All(string, Length(min=1, max=256))})


class UsagePage:
    """The page, its table, and the test of a key.

    Args:
        client: Where usage and models are asked for.
        now: Seconds since the epoch.
        zone: Returns the home's time zone.
    """

    def __init__(
        self, renderer: Renderer, client: MethodClient, now: Callable[[], float], zone: Callable[[], tzinfo]
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._now = now
        self._zone = zone

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /usage[?days=7|30|90]`: the page."""
        return await self._show(call, [])

    async def table(self, call: HttpCall) -> web.StreamResponse:
        """`GET /usage.csv[?days=…]`: the sums by day, agent and model."""
        days = _days(call)
        rows = (await self._client.ask(call, "models.usage", {"days": days}))["rows"]
        name = f"usage-{self._today().isoformat()}.csv"
        return web.Response(
            body=csv_of(rows).encode(),
            content_type="text/csv",
            charset="utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
        )

    async def test(self, call: HttpCall) -> web.StreamResponse:
        """`POST /usage/test`: make one small call with a key."""
        answer = await self._client.ask(call, "models.test", read_fields(call, TEST))
        return json_response(answer) if wants_json(call.request) else await self._show(call, answer["results"])

    async def _show(self, call: HttpCall, tested: Sequence[Mapping[str, Any]]) -> web.StreamResponse:
        days = _days(call)
        rows = (await self._client.ask(call, "models.usage", {"days": days}))["rows"]
        status = await self._client.ask(call, "models.status")
        each_day = daily(rows, days, self._today())
        priced = any(row["cost_usd"] for row in rows)
        measure = "cost_usd" if priced else "tokens"
        drawn = bars(each_day, measure)
        data = {
            "days": days,
            "spans": [{"days": span, "path": f"{PATH}?days={span}"} for span in SPANS],
            "csv": f"{PATH}.csv?days={days}",
            "priced": priced,
            "bars": [{**_plain(bar), "label": _amount(measure, bar.value)} for bar in drawn],
            "width": WIDTH,
            "height": HEIGHT,
            "total": _sums(each_day, priced=priced),
            "models": [_shown(each) for each in summed(rows, "model")],
            "table": [_shown(each) for each in reversed(each_day) if each["calls"]],
            "credentials": _keys(status) if call.known_caller.authority.has(ADMIN) else [],
            "budgets": status["budgets"],
            "tested": list(tested),
        }
        return await self._renderer.respond(call, RenderedPage("usage", "Usage", data, PATH))

    def _today(self) -> Any:
        return datetime.fromtimestamp(self._now(), self._zone()).date()


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV (RFC 4180); what a spreadsheet would take for a formula begins with an apostrophe."""
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


def _plain(bar: Any) -> dict[str, Any]:
    return {name: getattr(bar, name) for name in bar.__struct_fields__}


def _sums(days: Sequence[Mapping[str, Any]], *, priced: bool) -> dict[str, Any]:
    total = {name: sum(each[name] for each in days) for name in ("calls", "tokens", "cost_usd")}
    return _shown({**total, "cost_usd": total["cost_usd"] if priced else None})


def _shown(each: Mapping[str, Any]) -> dict[str, Any]:
    cost = each["cost_usd"]
    return {
        **each,
        "calls": f"{each['calls']:,}",
        "tokens": f"{each['tokens']:,}",
        "cost": "–" if cost is None else _amount("cost_usd", cost),
    }


def _amount(measure: str, value: float) -> str:
    if measure != "cost_usd":
        return f"{value:,.0f}"
    return f"${value:.4f}" if 0 < value < 1 else f"${value:,.2f}"


def _keys(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{provider['name']}@{key['id']}",
            "obstacle": provider["obstacle"],
            "rests": bool(key["cooldowns"]) or key["aside"],
            "error": (key["error"] or {}).get("message", ""),
        }
        for provider in status["providers"]
        for key in provider["credentials"]
        if provider["origin"] in ("configuration", "environment") or not provider["obstacle"]
    ]
