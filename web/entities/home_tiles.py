"""The tiles of entities with their states now and, for numbers, the line of their last day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from hub.core.errors import HubError
from hub.core.surfaces import HttpCall
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import Renderer
from web.entities.chart import number_of, spark_points
from web.entities.tiles import tile_of
from web.entities.weather import ForecastDay, for_tile, forecast_days, forecast_hours

DAILY, HOURLY = 1, 2
"""In `supported_features` of a weather: the forecasts that it has."""
SPARK_HOURS = 24
SPARK_KEPT_S = 300.0
SPARK_LIMIT = 100
"""Lines that are drawn on one page."""
ONE_PATH = "/devices/all"


class HomeTiles:
    """Makes tiles; the lines of the last day are kept for some minutes.

    Args:
        client: Asks for states and histories, in the reader's name.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client
        self._forecasts: dict[str, tuple[float, Sequence[Mapping[str, Any]]]] = {}
        self._sparks: dict[str, tuple[float, Sequence[float | None]]] = {}

    async def of(
        self, call: HttpCall, entities: Iterable[Mapping[str, Any]], *, sparks: bool = True
    ) -> list[dict[str, Any]]:
        """Return the arguments of the macro `tile` for each entity, as `entities.list` has them.

        Args:
            sparks: Whether numbers come with the line of their last day.
        """
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        states = {each["entity_id"]: each for each in (await self._client.ask(call, "state.list"))["states"]}
        made, drawn = [], 0
        for each in entities:
            id, state = each["entity_id"], states.get(each["entity_id"], {})
            tile = tile_of(each, state.get("attributes", {}), gettext)
            is_drawn = (
                sparks and drawn < SPARK_LIMIT and each["domain"] == "sensor" and number_of(each["state"]) is not None
            )
            drawn += is_drawn
            made.append(
                {
                    **asdict(tile),
                    "name": each["shown_name"],
                    "entity_id": id,
                    "key": id.replace(".", "-"),
                    "href": f"{ONE_PATH}?entity={id}",
                    "points": await self._spark(call, id) if is_drawn else None,
                    "forecast": await self._forecast(call, id, state) if tile.kind == "weather" else (),
                }
            )
        return made

    async def _forecast(self, call: HttpCall, id: str, state: Mapping[str, Any]) -> Sequence[ForecastDay]:
        """Return the next days of a weather, or hours where it knows only these; none for who may not ask."""
        attributes = state.get("attributes", {})
        is_hourly = attributes.get("supported_features", DAILY) & (DAILY | HOURLY) == HOURLY
        gettext = catalogue(self._renderer.preferences(call).language).gettext
        today = self._renderer.today()
        data = {"entity_id": id, "type": "hourly" if is_hourly else "daily"}
        now = asyncio.get_running_loop().time()
        kept = self._forecasts.get(id)
        if kept is None or kept[0] < now:
            try:
                told = await self._client.ask(call, "service.call", {"service": "weather.get_forecasts", "data": data})
            except HubError:
                return ()
            rows = ((told.get("response") or {}).get(id) or {}).get("forecast") or ()
            kept = self._forecasts[id] = (now + SPARK_KEPT_S, rows)
        if is_hourly:
            return forecast_hours(kept[1], self._renderer.local(self._renderer.now_ms()), gettext)
        return for_tile(forecast_days(kept[1], attributes, today, gettext), today, gettext)

    async def _spark(self, call: HttpCall, id: str) -> Sequence[float | None]:
        now = asyncio.get_running_loop().time()
        kept = self._sparks.get(id)
        if kept is None or kept[0] < now:
            past = await self._client.ask(call, "entities.history", {"entity_id": id, "hours": SPARK_HOURS})
            kept = (now + SPARK_KEPT_S, spark_points(past["points"], past["since"], past["until"]))
            self._sparks[id] = kept
        return kept[1]
