"""The form of automations written by agents: a schedule, and a message or a run, in literal text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.schema import Invalid

TRIGGERS = frozenset({"at", "every", "cron"})
SERVICES = frozenset({"agent.run", "agent.system_event", "message.send"})


def check_form(config: Mapping[str, Any]) -> None:
    """Refuse an automation that an agent may not write.

    Args:
        config: A validated automation with `made_by: agent:<id>`.

    Raises:
        Invalid: With the path of what is not allowed, and how the owner can make it their own.
    """
    mine = "; take out made_by to make it your own"
    for index, trigger in enumerate(config["triggers"]):
        if trigger["trigger"] not in TRIGGERS:
            raise Invalid(f"an agent may write only {', '.join(sorted(TRIGGERS))}{mine}", path=["triggers", index])
    for index, step in enumerate(config["actions"]):
        if step.get("action") not in SERVICES:
            raise Invalid(f"an agent may write only {', '.join(sorted(SERVICES))}{mine}", path=["actions", index])
    for key in ("conditions", "variables", "trigger_variables", "notify"):
        if config.get(key):
            raise Invalid(f"an agent may not write {key}{mine}", path=[key])
    if not isinstance(config.get("on_error") or "stop", str):
        raise Invalid(f"an agent may not write on_error{mine}", path=["on_error"])
