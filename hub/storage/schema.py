"""Configuration of retention: `hub: history:`."""

from __future__ import annotations

from hub.core.schema import Optional, Schema, positive_seconds

EVENTS_S = 7 * 86_400.0
STATES_S = 30 * 86_400.0
USAGE_S = 400 * 86_400.0
TRACES_S = 30 * 86_400.0

HISTORY_SCHEMA = Schema(
    {
        Optional("events", default=EVENTS_S, description="How long events are kept, such as 7d."): positive_seconds,
        Optional("states", default=STATES_S, description="How long states are kept, such as 30d."): positive_seconds,
        Optional("usage", default=USAGE_S, description="How long token usage is kept, such as 400d."): positive_seconds,
        Optional(
            "traces", default=TRACES_S, description="How long traces of automations and of runs are kept, such as 30d."
        ): positive_seconds,
    }
)
