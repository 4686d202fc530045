"""`timeline.*`: what happened and what did not, and why. For owners; other persons see only their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, integer, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.security.redaction import Redactor
from hub.timeline.happening import FILTERS, LISTED, Kind
from hub.timeline.listing import Timeline, TimelineFilters
from hub.timeline.one import OneHappening

OWNER = "gateway"
LIST_LIMIT = 200
_NAME = All(string, Length(min=1, max=256))


class TimelineMethods:
    """The methods of the timeline.

    Args:
        timeline: Lists happenings.
        one: Shows one.
        redactor: Removes secrets from what is shown.
        zone: Returns the home's time zone.
    """

    def __init__(self, timeline: Timeline, one: OneHappening, redactor: Redactor, zone: Callable[[], tzinfo]) -> None:
        self._timeline = timeline
        self._one = one
        self._redactor = redactor
        self._zone = zone

    def methods(self) -> list[Method]:
        """Return the methods."""
        list_ = Schema(
            {
                Optional("limit", default=50): All(integer, Range(min=1, max=LIST_LIMIT)),
                Optional("cursor", description="`next` of an earlier page."): AnyOf(None, _NAME),
                Optional("kind", description="Only these kinds."): AnyOf(In(list(LISTED)), [In(list(LISTED))]),
                Optional("outcome", description="Only what ended so."): AnyOf(In(list(FILTERS)), [In(list(FILTERS))]),
                Optional("person", description="Id of a person."): _NAME,
                Optional("agentId"): _NAME,
                Optional("entityId", description="What it did, or what set it off."): _NAME,
                Optional("automationId"): _NAME,
                Optional("text", description="Words of the title, the reason or a cause."): All(
                    string, Length(max=200)
                ),
                Optional("day", description="YYYY-MM-DD, in the home's time zone."): All(string, Length(max=10)),
            }
        )
        get = Schema({Required("id", description="Of a row."): _NAME})
        return [
            Method("timeline.list", self._list, OWNER, list_, ADMIN),
            Method("timeline.get", self._get, OWNER, get, ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        since_ms, until_ms = self._day(params.get("day"))
        wanted = TimelineFilters(
            kinds=frozenset(map(Kind, _each(params.get("kind")))),
            outcomes=frozenset(_each(params.get("outcome"))),
            person=params.get("person"),
            agent=params.get("agentId"),
            entity=params.get("entityId"),
            automation=params.get("automationId"),
            text=params.get("text", "").strip(),
            since_ms=since_ms,
            until_ms=until_ms,
        )
        authority = call.context.authority
        page = await self._timeline.page(wanted, authority, limit=params["limit"], cursor=params.get("cursor"))
        names = self._timeline.names()
        rows = [self._redactor.redact_data(row.as_dict(names)) for row in page.rows]
        return {"happenings": rows, "next": page.next}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        shown: dict[str, Any] = self._redactor.redact_data(
            await self._one.get(call.params["id"], call.context.authority)
        )
        return shown

    def _day(self, text: str | None) -> tuple[int | None, int | None]:
        if text is None:
            return None, None
        try:
            day = date.fromisoformat(text)
            begin, end = (
                datetime(each.year, each.month, each.day, tzinfo=self._zone()) for each in (day, day + timedelta(1))
            )
        except (ValueError, OverflowError) as error:
            raise InvalidRequest(f"day: expected YYYY-MM-DD, got {text!r}", details={"param": "day"}) from error
        return int(begin.timestamp() * 1000), int(end.timestamp() * 1000)


def _each(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else [*value]
