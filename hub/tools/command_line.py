"""Reading a command as it is written, with the hub's errors; the rules are those of the node program (`node/rules`)."""

from __future__ import annotations

from hub.core.errors import InvalidRequest
from node.rules import command_line
from node.rules.command_line import (
    COMMAND_CHARS,
    CommandRefused,
    WrittenCommand,
    look_alikes,
    runs_others,
)
from node.rules.named_files import candidate_files, entered_folders, run_arguments, run_words

__all__ = [
    "COMMAND_CHARS",
    "WrittenCommand",
    "candidate_files",
    "entered_folders",
    "look_alikes",
    "read_command",
    "refuse_invisible",
    "run_arguments",
    "run_words",
    "runs_others",
]


def read_command(text: str) -> WrittenCommand:
    """Read a command.

    Raises:
        InvalidRequest: It is empty, too long, or has characters that people cannot see.
    """
    try:
        return command_line.read_command(text)
    except CommandRefused as error:
        raise InvalidRequest(str(error)) from None


def refuse_invisible(what: str, text: str) -> None:
    """Refuse text with control, format or private characters but tab and line feed.

    Raises:
        InvalidRequest: It has one.
    """
    try:
        command_line.refuse_invisible(what, text)
    except CommandRefused as error:
        raise InvalidRequest(str(error)) from None
