"""Verbs for entities, mapped to services of their domains."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hub.entities.domains import DOMAINS

SET = "set"
_VERBS: Mapping[str, tuple[str, ...]] = {
    "turn_on": ("turn_on", "open_{domain}", "press", "start"),
    "turn_off": ("turn_off", "close_{domain}", "return_to_base", "dock"),
    "toggle": ("toggle",),
    "open": ("open_{domain}", "open"),
    "close": ("close_{domain}",),
    "stop": ("stop_{domain}", "stop", "media_stop"),
    "lock": ("lock",),
    "unlock": ("unlock",),
    "press": ("press",),
    "start": ("start", "start_mowing", "media_play"),
    "pause": ("pause", "media_pause"),
    "dock": ("return_to_base", "dock"),
}
VERBS = (*_VERBS, SET)
_ALSO_ON = frozenset({"automation", "script"})


def service_for(verb: str, domain: str, values: Collection[str]) -> str | None:
    """Return the service that does it; None when entities of the domain cannot.

    Args:
        values: The names of what is set.
    """
    known = DOMAINS.get(domain, {})
    if verb == SET or values:
        fitting = [name for name, fields in known.items() if values and set(values) <= set(map(str, fields))]
        return f"{domain}.{min(fitting, key=lambda name: len(known[name]))}" if fitting else None
    if domain in _ALSO_ON and verb in ("turn_on", "turn_off", "toggle"):
        return f"{domain}.{verb}"
    names = (each.format(domain=domain) for each in _VERBS[verb])
    return next((f"{domain}.{name}" for name in names if name in known), None)
