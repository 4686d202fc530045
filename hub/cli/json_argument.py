"""JSON arguments of the command line."""

from __future__ import annotations

import json
from typing import Any

import click

from hub.cli.exits import CommandFailed, Exit


def json_object(text: str, option: str) -> dict[str, Any]:
    """Return the JSON object given to an option.

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


def as_object(_ctx: click.Context, option: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Read the value of an option as a JSON object; a callback for `click.option`."""
    return None if value is None else json_object(value, option.opts[0])
