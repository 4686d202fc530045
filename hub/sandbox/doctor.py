"""Checks whether the running hub can make a sandbox for the programs that need one."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.errors import HubError
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, warning


def _sandboxes(context: CheckContext) -> Iterator[Finding]:
    if context.running is None:
        return
    try:
        told = context.ask("sandbox.explain")
    except HubError:  # the check of the running hub says why
        return
    if told["engine"] is None:
        why = "; ".join(f"{each['name']}: {each['problem']}" for each in told["engines"])
        yield warning(
            "No sandbox can be made. Programs run only when an owner asks in the main conversation, with no words from "
            f"outside in it. {why}.",
            "docs/sandbox.md",
            "apt install bubblewrap",
        )


SANDBOXES = Check("sandboxes", "Sandboxes for programs", _sandboxes)
