"""The programs, by the name after `acp/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hub.core.schema import (
    PATH,
    All,
    Described,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    number,
    positive_seconds,
    program,
    secret,
    slug,
    string,
)

PROGRAMS_LIMIT = 20
SILENCE_S = 600.0
IDLE_MINUTES = 15.0


def _folder(value: Any) -> str:
    if not isinstance(value, str) or not Path(value).is_absolute():
        raise Invalid(f"expected a folder such as /home/me/projects/site, from the root on, got {value!r}"[:200])
    return value


_absolute = Described(_folder, {"type": "string", "pattern": "^/", "format": PATH}, "folder")
_variable = Match(r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", msg="expected the name of an environment variable")

PROGRAM_SCHEMA = {
    Required("command", description="The program and its arguments; no shell reads them."): All(
        [program], Length(min=1, max=100)
    ),
    Required("folder", description="Where it works; apart from the hub's home and the agents' workspaces."): _absolute,
    Optional("environment", default=dict, description="Variables it sees, beside PATH, HOME and the like."): {
        _variable: secret
    },
    Optional(
        "auth_method", description="How it signs in, of the ways that it offers; else as it is signed in."
    ): string,
    Optional("timeout_s", default=SILENCE_S, description="After so long without a word it is stopped."): All(
        positive_seconds, Range(max=86_400)
    ),
    Optional("idle_minutes", default=IDLE_MINUTES, description="So long it waits for the next message."): All(
        number, Range(min=0, max=1_440)
    ),
}

CONFIG_SCHEMA = Schema(
    {
        Required("agents", description="Programs by name."): All(
            {slug: PROGRAM_SCHEMA}, Length(min=1, max=PROGRAMS_LIMIT)
        )
    }
)
