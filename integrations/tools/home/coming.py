"""What comes: the forecast of weather and the events of calendars until a day, for `get_state`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

from hub.core.context import Context
from hub.core.errors import HubError
from hub.core.services import ServiceRegistry

ASKED = {"weather": ("get_forecasts", "forecast"), "calendar": ("get_events", "events")}
"""By domain: the service that tells, and what it calls what it tells."""
DAYS_LIMIT = 370
ROWS_LIMIT = 30
"""Of each entity; what goes beyond it is counted."""


async def what_comes(
    services: ServiceRegistry, entity_ids: Iterable[str], until: date, now: datetime, context: Context
) -> dict[str, dict[str, Any]]:
    """Return what each of these entities tells of the days from now on; why not, where one does not tell.

    Args:
        until: The last day.
        now: On the clocks of the home.
    """
    found: dict[str, dict[str, Any]] = {}
    last = min(until, now.date() + timedelta(days=DAYS_LIMIT))
    end = datetime.combine(max(last, now.date()) + timedelta(days=1), time(), now.tzinfo)
    for each in entity_ids:
        domain = each.partition(".")[0]
        if domain not in ASKED:
            continue
        service, key = ASKED[domain]
        span = {"start_date_time": now.isoformat(), "end_date_time": end.isoformat()}
        data = {"entity_id": each, **(span if domain == "calendar" else {"type": "daily"})}
        try:
            answer = await services.call(domain, service, data, context=context, wants_response=True)
        except HubError as error:
            found[each] = {f"{key}_error": error.message}
            continue
        told = dict((answer or {}).get(each) or {})
        rows = [row for row in told.get(key, ()) if f"{row.get('start', row.get('datetime', ''))}"[:10] <= f"{last}"]
        found[each] = {key: rows[:ROWS_LIMIT], **({"more": len(rows) - ROWS_LIMIT} if rows[ROWS_LIMIT:] else {})}
    return found
