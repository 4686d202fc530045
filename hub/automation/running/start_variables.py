"""The variables at the start of a run, or of an armed trigger; in the order in which they may use each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import Firing
from hub.core.states import EntityState
from hub.template.engine import TemplateEngine


def run_variables(
    config: Mapping[str, Any], firing: Firing, this: EntityState | None, templates: TemplateEngine
) -> dict[str, Any]:
    """Return the variables of a run: `this`, `trigger`, the trigger's own, arguments, the automation's.

    The trigger's own and those passed in come first and replace the automation's own of that name, as
    in Home Assistant. What was passed in is never rendered: it may be words from outside.

    Args:
        config: The automation.
        this: Its own state.

    Raises:
        HubError: A template cannot be rendered.
    """
    id = config["id"]
    found: dict[str, Any] = {"this": this, "trigger": firing.trigger}
    if firing.context is not None:
        found["context"] = {"id": firing.context.id, "parent_id": firing.context.parent_id}
    first = {*firing.variables, *firing.given}
    _add(found, firing.variables, config, templates, id)
    found.update(firing.given)
    own = {**config["trigger_variables"], **config["variables"]}
    _add(found, {name: value for name, value in own.items() if name not in first}, config, templates, id)
    return found


def trigger_variables(config: Mapping[str, Any], templates: TemplateEngine) -> dict[str, Any]:
    """Return the variables for templates in triggers, each of which sees those before it.

    Raises:
        HubError: A template cannot be rendered.
    """
    found: dict[str, Any] = {}
    _add(found, config["trigger_variables"], config, templates, f"{config['id']}: trigger_variables")
    return found


def _add(
    found: dict[str, Any], variables: Mapping[str, Any], config: Mapping[str, Any], templates: TemplateEngine, name: str
) -> None:
    for key, value in variables.items():
        found[key] = templates.render_value(value, found, f"{name}: {key}") if config["templates"] else value
