"""One place's weather: asked for now and then, kept while the server is away, and over a restart."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.errors import HubError, InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.entities.description import EntityDescription
from hub.models.retry_after import retry_after_s
from integrations.devices.open_meteo.answer import Answer, query, read

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_log = logging.getLogger(__name__)

BODY_LIMIT_BYTES = 500_000
TIMEOUT_S = 30.0
RETRY_S = 60.0
BUSY_S = 900.0
"""How long a server that answers 429 is left alone, unless it asks for longer."""
RETRY_LIMIT_S = 3_600.0
STALE_S = 3 * 3_600.0
"""Weather that is older is none."""
DAILY_AND_HOURLY = 1 | 2
ATTRIBUTION = "Weather data by Open-Meteo.com"


class Weather:
    """The weather of a place.

    Args:
        settings: One item of `weather:`.

    Raises:
        InvalidRequest: It is the home's, whose place is not known.
    """

    def __init__(self, host: IntegrationHost, settings: Mapping[str, Any]) -> None:
        self._host, self._settings = host, settings
        self._query()
        key = settings.get("unique_id") or slugify(settings["name"]) or "home"
        self._kept = host.storage(slugify(key) or "home")
        self._answer: Answer | None = None
        self._asked = 0.0
        self._failures = 0
        description = EntityDescription(
            "weather",
            key,
            settings["name"],
            attributes={"supported_features": DAILY_AND_HOURLY, "attribution": ATTRIBUTION},
        )
        self._handle = host.entities.add(description, {"get_forecasts": self._get_forecasts})

    async def live(self) -> None:
        """Ask for it as long as the hub runs."""
        clock = self._host.clock
        wait_s = await self._begin()
        while True:
            await clock.sleep_until(clock.time() + wait_s)
            wait_s = await self._look()

    async def _begin(self) -> float:
        """Show what was known at the last end, if it is of this place; return when to ask."""
        try:
            kept = await self._kept.load({})
            if kept.get("query") == self._query():
                self._answer, self._asked = read(kept["body"].encode()), float(kept["asked"])
        except (HubError, AttributeError, KeyError, TypeError, ValueError):  # it is asked for again
            pass
        self._show()
        return max(0.0, self._asked + float(self._settings["every"]) - self._host.clock.time())

    async def _look(self) -> float:
        """Ask for the weather, and return how long to wait before the next time, which differs a little each time."""
        try:
            body = await self._fetch()
            self._answer = read(body)
        except HubError as error:
            self._failures += 1
            self._show()
            patience_s = min(RETRY_S * 2 ** min(self._failures - 1, 10), RETRY_LIMIT_S)
            return float(max(error.retry_after_s or 0.0, patience_s)) * _spread()
        self._failures, self._asked = 0, self._host.clock.time()
        try:
            await self._kept.save({"query": self._query(), "asked": self._asked, "body": body.decode()})
        except HubError as error:
            _log.warning("the weather is not kept over a restart: %s", error)
        self._show()
        return float(self._settings["every"]) * _spread()

    async def _fetch(self) -> bytes:
        address = f"{self._settings['url'].rstrip('/')}/v1/forecast?{self._query()}"
        answer = await self._host.egress.fetch(address, limit_bytes=BODY_LIMIT_BYTES, timeout_s=TIMEOUT_S)
        if answer.status == 429:
            wait_s = retry_after_s(answer.headers, "", self._host.clock.time()) or 0.0
            raise Unavailable("Open-Meteo asks for patience", retry_after_s=max(BUSY_S, wait_s))
        if answer.status != 200:
            raise Unavailable(f"Open-Meteo answered with the status {answer.status}")
        return answer.body

    def _query(self) -> str:
        place = self._settings if "latitude" in self._settings else self._host.config.or_default("hub")
        if "latitude" not in place:
            raise InvalidRequest(phrase("the home’s place is not known; set latitude and longitude in the settings"))
        return query(place["latitude"], place["longitude"], str(self._host.time_zone))

    def _show(self) -> None:
        is_stale = self._answer is None or self._host.clock.time() - self._asked > max(
            STALE_S, 2 * float(self._settings["every"])
        )
        if self._answer is None or is_stale:
            self._handle.available(self._failures == 0)
            return
        self._handle.set(self._answer.state(), self._answer.attributes())
        self._handle.available(True)

    async def _get_forecasts(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._answer is None:
            raise Unavailable(phrase("the weather is not known yet"))
        now = self._host.clock.time()
        match data["type"]:
            case "daily":
                return {"forecast": self._answer.days(now)}
            case "hourly":
                return {"forecast": self._answer.hours(now)}
        raise InvalidRequest(phrase("there are forecasts of days and of hours"))


def _spread() -> float:
    """Return a factor by which homes that began together ask apart."""
    return random.uniform(1.0, 1.1)  # noqa: S311
