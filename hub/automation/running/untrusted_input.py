"""Words from outside in the calls of a tainted run: quoted for models, and refused where they would choose who acts.

The author's own words stay as they are; what templates put among them is data. A call by hand renders nothing: there
the recipient quotes it all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import StepRun
from hub.automation.definition.fields import is_template
from hub.automation.running.quoter import quoter
from hub.core.errors import Forbidden
from hub.core.services import Service

CHOICES = ("agent", "session", "tools")
"""Keys of a call to an agent that decide who acts, where and with what."""
DATA_KEYS = ("data", "data_template")


def refuse_chosen_service(step: Mapping[str, Any], run: StepRun, name: str) -> None:
    """Refuse a service that words from outside chose; within a literal domain, they may choose the service.

    Raises:
        Forbidden: The domain comes from a template.
    """
    written = str(step["action"]).strip().lower()
    if not run.context.authority.tainted or not is_template(written):
        return
    if not written.startswith(f"{name.partition('.')[0]}."):
        raise Forbidden(
            f"text that others wrote is in this run, so it may not choose the service {name}; write its domain out, "
            "as in light.{{ … }}"
        )


def refuse_choices(step: Mapping[str, Any], run: StepRun, data: Mapping[str, Any]) -> None:
    """Refuse an agent, a session or tools that words from outside chose.

    The conversation that a message came in was not chosen by it.

    Raises:
        Forbidden: One of them comes from a template.
    """
    for key in CHOICES:
        if key not in data or key in _literal(step, run):
            continue
        if key == "session" and data[key] is not None and data[key] == _conversation(run):
            continue
        raise Forbidden(
            f"text that others wrote is in this run, so it may not choose its {key}; write it out instead of a template"
        )


async def quote_data(
    step: Mapping[str, Any], run: StepRun, service: Service, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the data of a call with template output quoted in fields that a model reads."""
    quote = quoter()
    quoted = dict(data)
    for key in service.told & data.keys():
        if key in _literal(step, run):
            continue
        template = next((given[key] for given in _mappings(step) if key in given), None)
        quoted[key] = quote(str(data[key])) if template is None else await run.render_later(template, quote=quote)
    return quoted


def _literal(step: Mapping[str, Any], run: StepRun) -> set[str]:
    """Return the literal keys of a call."""
    if not run.templates:
        return {key for given in _mappings(step) for key in given}
    last: dict[str, Any] = {}
    for name in (*DATA_KEYS, "target"):
        given = step.get(name)
        if is_template(given):
            return set()  # it may have given any key
        last.update(given or {})
    return {key for key, value in last.items() if run.is_static(value)}


def _mappings(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [step[name] for name in reversed(DATA_KEYS) if isinstance(step.get(name), Mapping)]


def _conversation(run: StepRun) -> Any:
    message = (run.scope.view.get("trigger") or {}).get("message")
    return message.get("session_key") if isinstance(message, Mapping) else None
