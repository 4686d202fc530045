"""The kinds of template entities."""

from __future__ import annotations

from collections.abc import Mapping

from integrations.devices.template.contract import TemplateKind
from integrations.devices.template.controls import ALARM, BUTTON, COVER, FAN, LOCK, NUMBER, SELECT, SWITCH, VACUUM
from integrations.devices.template.image_kind import IMAGE
from integrations.devices.template.light import LIGHT
from integrations.devices.template.sensors import BINARY_SENSOR, SENSOR
from integrations.devices.template.weather import WEATHER

KINDS: Mapping[str, TemplateKind] = {
    kind.domain: kind
    for kind in (
        *(
            SENSOR,
            BINARY_SENSOR,
            NUMBER,
            SELECT,
            SWITCH,
            BUTTON,
            LIGHT,
            COVER,
            FAN,
            LOCK,
            ALARM,
            VACUUM,
            WEATHER,
            IMAGE,
        ),
    )
}
"""By the domain of their entities, which is their key in a block."""
TRIGGERED = KINDS.keys() - {"button"}
"""Those that triggers may set."""
