"""Arming a trigger: limited templates are rendered, and what cannot be watched is reported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hub.automation.contract import Arm, TriggerHost
from hub.automation.definition.values import is_template
from hub.automation.running.signals import error_text
from hub.core.errors import HubError
from hub.core.events import Unsubscribe
from hub.core.schema import SchemaError


def report_errors(arm: Arm) -> Arm:
    """Report an error while arming to the owner; the trigger is then not watched, and others continue."""

    def tell(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
        try:
            return arm(config, host)
        except (HubError, SchemaError) as error:
            host.fail(error_text(error))
            return do_nothing

    return tell


def do_nothing() -> None:
    """Do nothing: the unsubscribe function of a watch that never began."""


def render_limited(value: Any, host: TriggerHost) -> Any:
    """Return a value with its templates rendered over `trigger_variables`; once, when the trigger is armed.

    Raises:
        HubError: A template cannot be rendered.
    """
    if not has_template(value) or not host.templates:
        return value
    return host.parts.templates.render_value(value, host.variables)


def render_value(value: Any, host: TriggerHost, **more: Any) -> Any:
    """Return a value with its templates rendered over `trigger_variables` and more, while the trigger watches.

    Raises:
        HubError: A template cannot be rendered.
    """
    if not has_template(value) or not host.templates:
        return value
    return host.parts.templates.render_value(value, {**host.variables, **more})


def has_template(value: Any) -> bool:
    """Whether there is a template anywhere in plain data."""
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(has_template(each) for each in value.values())
    if isinstance(value, (list, tuple)):
        return any(has_template(each) for each in value)
    return False


def local_time(host: TriggerHost, when: float) -> datetime:
    """Return an instant (seconds since the epoch) as the home's clock shows it."""
    return datetime.fromtimestamp(when, UTC).astimezone(host.parts.zone())
