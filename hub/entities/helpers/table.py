"""The kinds of helpers."""

from __future__ import annotations

from collections.abc import Mapping

from hub.entities.helpers.contract import HelperKind
from hub.entities.helpers.groups import GROUP
from hub.entities.helpers.inputs import BOOLEAN, BUTTON, COUNTER, NUMBER, SELECT, TEXT
from hub.entities.helpers.moments import DATETIME, TIMER
from hub.entities.helpers.places import SUN, ZONE
from hub.entities.helpers.scene import SCENE
from hub.entities.helpers.week import SCHEDULE

HELPERS: Mapping[str, HelperKind] = {
    kind.domain: kind
    for kind in (*(BOOLEAN, BUTTON, COUNTER, DATETIME, GROUP, NUMBER, SCENE, SCHEDULE, SELECT, SUN, TEXT, TIMER, ZONE),)
}
"""By the domain of their entities, which is the section that names them."""
RELOADED = tuple(domain for domain, kind in HELPERS.items() if kind.is_section)
"""Domains that have a service `reload`."""
