"""JSON as it is typed on the command line."""

from __future__ import annotations

import json
from typing import Any

from hub.cli.exits import CommandFailed, Exit


def json_object(text: str, option: str) -> dict[str, Any]:
    """Return a JSON object that was given to an option.

    Raises:
        CommandFailed: It is none.
    """
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise CommandFailed(f"{option} is not JSON: {error}", Exit.USAGE) from error
    if not isinstance(parsed, dict):
        raise CommandFailed(f'{option} must be a JSON object, such as {{"name": "value"}}', Exit.USAGE)
    return parsed
