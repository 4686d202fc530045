"""Who types OpenClaw's names is told ours, and ours exist."""

from __future__ import annotations

import click
import pytest

from hub.cli.openclaw_names import OURS
from tests.cli.terminal import Terminal, command_at

THEIR_GROUPS = ("gateway", "plugins", "security")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("gateway call health", "OpenClaw's `gateway call` is here: homarus call"),
        ("gateway --port 18789", "OpenClaw's `gateway` is here: homarus start"),
        ("doctor --repair", "OpenClaw's `doctor --repair` is here: homarus doctor --fix"),
        ("agent --message hi", "OpenClaw's `agent --message` is here: homarus agent run TEXT"),
        ("cron rm morning", "OpenClaw's `cron rm` is here: homarus cron remove"),
        ("message send --target x", "OpenClaw's `message send --target` is here: homarus message send --to"),
        ("voicecall", "Homarus makes no phone calls."),
    ],
)
def test_a_name_of_openclaws_is_answered_with_ours(type_: Terminal, typed: str, told: str) -> None:
    ran = type_(*typed.split())

    assert (ran.code, told in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(("theirs", "ours"), OURS.items())
def test_what_is_named_instead_exists_and_what_it_stands_for_does_not(theirs: str, ours: str) -> None:
    words = ours.split()[1:]
    options = {word for word in words if word.startswith("-")}
    command = command_at(tuple(word for word in words if word.islower() and word not in options))
    assert options <= {"--help", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))}

    *above, last = theirs.split()
    if not above or above[0] not in THEIR_GROUPS:
        parent = command_at(tuple(above))
        known = {name for each in parent.params for name in each.opts}
        assert last not in known | (
            {*parent.list_commands(click.Context(parent))} if isinstance(parent, click.Group) else set()
        )
