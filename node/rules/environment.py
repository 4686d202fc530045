"""The variables that a command may set for its program. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .command_line import CommandRefused, refuse_invisible

VALUE_CHARS = 1_000
_MAY_BE_SET = re.compile(r"LANG|LC_[A-Z]{1,20}|TZ|TERM|COLUMNS|LINES|NO_COLOR|CI")


def check_environment(wanted: Mapping[str, object]) -> dict[str, str]:
    """Return the variables that a command sets.

    Raises:
        CommandRefused: One of them cannot be set, is not text, is too long, or has invisible characters.
    """
    found: dict[str, str] = {}
    for name, value in wanted.items():
        if not _MAY_BE_SET.fullmatch(name):
            raise CommandRefused(
                f"env: {name!r:.80} cannot be set; only LANG, LC_*, TZ, TERM, COLUMNS, LINES, NO_COLOR and CI can"
            )
        if not isinstance(value, str) or len(value) > VALUE_CHARS:
            raise CommandRefused(f"env: the value of {name} is not text of at most {VALUE_CHARS} characters")
        refuse_invisible(f"env: {name}", value)
        found[name] = value
    return found
