"""Configuration of retention, `hub: history:`, and of the database, `storage:`."""

from __future__ import annotations

from typing import Any

from hub.core.schema import All, AnyOf, Match, Optional, Required, Schema, positive_seconds, secret
from hub.core.secret import Secret

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

DEFAULT_HOME = "home"


def _named(value: Any) -> dict[str, Any]:
    return {"url": value, "home": DEFAULT_HOME} if isinstance(value, Secret) else value


STORAGE_SCHEMA = Schema(
    {
        Optional(
            "postgresql",
            description="The address of a PostgreSQL database, best as !secret NAME, or a mapping with its url",
        ): All(
            AnyOf(
                secret,
                {
                    Required(
                        "url", description="postgresql://user:password@host:5432/name, best as !secret NAME"
                    ): secret,
                    Optional(
                        "home", default=DEFAULT_HOME, description="Of several homes in one database, this one"
                    ): Match(r"^[a-z0-9][a-z0-9_-]{0,62}$", msg="expected a name of small letters, digits, - and _"),
                },
            ),
            _named,
        ),
    }
)
