"""Options that memory commands share: the agent, and the parameters that were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def agent_option(command: Command) -> Command:
    """Add `--agent ID`; the command gets it as `agent: str | None`."""
    return click.option("--agent", metavar="ID", help="The agent whose memory is meant; the default agent if omitted.")(
        command
    )


def given_params(**params: Any) -> dict[str, Any]:
    """Return the parameters that were given."""
    return {name: value for name, value in params.items() if value is not None}
