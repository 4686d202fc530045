"""The app's home: who it is, and the commands that it understands.

Source: https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COMMANDS = 90
"""A view has up to a hundred blocks."""
LINE_CHARS = 2_900


def home_view(name: str, commands: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the view of the home.

    Args:
        commands: Names and one-line descriptions, in order.
    """
    lines = [f"!{command}  {description}"[:LINE_CHARS] for command, description in commands[:COMMANDS]]
    return {
        "type": "home",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": name}},
            *({"type": "section", "text": {"type": "plain_text", "text": line}} for line in lines),
        ],
    }
