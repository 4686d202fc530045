"""The tiles of entities with their states now and, for numbers, the line of their last day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from hub.core.surfaces import HttpCall
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import Renderer
from web.entities.chart import number_of, spark_points
from web.entities.tiles import tile_of

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
                }
            )
        return made

    async def _spark(self, call: HttpCall, id: str) -> Sequence[float | None]:
        now = asyncio.get_running_loop().time()
        kept = self._sparks.get(id)
        if kept is None or kept[0] < now:
            past = await self._client.ask(call, "entities.history", {"entity_id": id, "hours": SPARK_HOURS})
            kept = (now + SPARK_KEPT_S, spark_points(past["points"], past["since"], past["until"]))
            self._sparks[id] = kept
        return kept[1]
