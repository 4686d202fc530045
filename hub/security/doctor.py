"""Check that the hub token exists, is valid, and is private."""

from __future__ import annotations

import stat
from collections.abc import Iterator

from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical
from hub.doctor.permissions import OTHERS
from hub.security.hub_token import hub_token


def _look(context: CheckContext) -> Iterator[Finding]:
    path = context.home.hub_token
    if not path.exists() and not path.is_symlink():
        if context.running is not None:
            yield critical(
                "The hub is running but its token file is missing, so no command can reach it. "
                "Restart it to create a new one.",
                str(path),
                context.command("start"),
            )
        return  # it is made on first need
    if stat.S_IMODE(path.lstat().st_mode) & OTHERS:
        return  # told among the permissions; reading it in the ordinary way would set them
    try:
        hub_token(context.home.path)
    except HubError as problem:
        yield critical(_sentence(problem.message), str(path), f"rm {path}")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


HUB_TOKEN = Check("token", "The hub token", _look)
