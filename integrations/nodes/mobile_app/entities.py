"""The entities of a registered device: where it is, and its sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.context import Authority, Context
from hub.core.schema import REMOVE_EXTRA, All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean
from hub.entities.description import DeviceInfo, EntityDescription
from integrations.nodes.mobile_app.registration import MobileApp

if TYPE_CHECKING:
    from hub.entities.entities import EntityHandle
    from hub.host import IntegrationHost

STATE_CHARS = 255
ATTRIBUTES_LIMIT = 64

_NUMBER = AnyOf(int, float)
_TEXT = AnyOf(None, All(str, Length(max=256)))
_STATE = AnyOf(None, bool, int, float, str)
_ATTRIBUTES = AnyOf(None, All(dict, Length(max=ATTRIBUTES_LIMIT)))

LOCATION = Schema(
    {
        Optional("location_name"): _TEXT,
        Optional("gps"): AnyOf(None, All([_NUMBER], Length(min=2, max=2))),
        Optional("gps_accuracy"): AnyOf(None, _NUMBER),
        Optional("battery"): AnyOf(None, All(_NUMBER, Range(min=0, max=100))),
        **{Optional(name): AnyOf(None, _NUMBER) for name in ("speed", "altitude", "course", "vertical_accuracy")},
    },
    extra=REMOVE_EXTRA,
)
SENSOR = Schema(
    {
        Required("unique_id"): All(str, Length(min=1, max=128)),
        Required("name"): All(str, Length(min=1, max=128)),
        Required("type"): In(["sensor", "binary_sensor"]),
        Optional("state"): _STATE,
        **{
            Optional(name): _TEXT
            for name in ("device_class", "unit_of_measurement", "state_class", "entity_category", "icon")
        },
        Optional("attributes"): _ATTRIBUTES,
        Optional("disabled", default=False): AnyOf(None, boolean),
    },
    extra=REMOVE_EXTRA,
)
SENSOR_STATE = Schema(
    {
        Required("unique_id"): All(str, Length(min=1, max=128)),
        Required("type"): In(["sensor", "binary_sensor"]),
        Required("state"): _STATE,
        Optional("icon"): _TEXT,
        Optional("attributes"): _ATTRIBUTES,
    },
    extra=REMOVE_EXTRA,
)


class AppEntities:
    """The entities of one registration.

    Args:
        host: Registers them.
        app: The app as it is registered.
    """

    def __init__(self, host: IntegrationHost, app: MobileApp) -> None:
        self._host = host
        self._app = app
        self._handles: dict[str, EntityHandle] = {}
        for sensor in app.sensors.values():
            self.add(app, sensor)

    def locate(self, app: MobileApp, said: Mapping[str, Any], authority: Authority) -> None:
        """Set where the device is, as whoever carries it says."""
        handle = self._handles.get("tracker")
        if handle is None:
            description = EntityDescription("device_tracker", f"{app.id}_tracker", device=device_of(app))
            handle = self._handles["tracker"] = self._host.entities.add(description)
        gps = said.get("gps")
        names = {"battery": "battery_level"}
        attributes = {names.get(key, key): value for key, value in said.items() if key not in ("gps", "location_name")}
        if gps:
            attributes |= {"latitude": gps[0], "longitude": gps[1]}
        shown = {key: value for key, value in attributes.items() if value is not None}
        handle.set(said.get("location_name"), {"source_type": "gps", **shown}, Context(authority.narrow(tainted=True)))

    def add(self, app: MobileApp, sensor: Mapping[str, Any]) -> None:
        """Add a sensor, or describe one again."""
        description = EntityDescription(
            sensor["type"],
            f"{app.id}_{sensor['unique_id']}",
            sensor["name"],
            device=device_of(app),
            device_class=sensor.get("device_class"),
            unit=sensor.get("unit_of_measurement"),
            icon=_icon(sensor),
            entity_category=_category(sensor),
            attributes={"state_class": sensor["state_class"]} if sensor.get("state_class") else {},
            enabled_by_default=not sensor.get("disabled"),
        )
        key = sensor["unique_id"]
        if key in self._handles:
            self._handles[key].update(description, {})
        else:
            self._handles[key] = self._host.entities.add(description)
        if "state" in sensor:
            self.report(sensor)

    def report(self, sensor: Mapping[str, Any]) -> None:
        """Set the state of a sensor that was added."""
        attributes = {key[:64]: value for key, value in (sensor.get("attributes") or {}).items()}
        if icon := _icon(sensor):
            attributes["icon"] = icon
        self._handles[sensor["unique_id"]].set(_state(sensor), attributes)

    def remove(self) -> None:
        """Forget all of them."""
        for each in self._handles.values():
            each.remove(forget=True)


def _state(sensor: Mapping[str, Any]) -> str | None:
    state = sensor["state"]
    if state is None:
        return None
    if sensor["type"] == "binary_sensor":
        return "on" if state in (True, "on", "true", 1) else "off"
    return str(state)[:STATE_CHARS]


def _icon(sensor: Mapping[str, Any]) -> str | None:
    icon = sensor.get("icon")
    return icon if isinstance(icon, str) and icon.startswith("mdi:") else None


def _category(sensor: Mapping[str, Any]) -> str | None:
    category = sensor.get("entity_category")
    return category if category in ("config", "diagnostic") else None


def device_of(app: MobileApp) -> DeviceInfo:
    """Return what an app's phone is among the devices of the home."""
    said = app.said
    return DeviceInfo(
        identifiers=frozenset({app.id}),
        name=app.name,
        manufacturer=said.get("manufacturer"),
        model=said.get("model"),
        sw_version=said.get("os_version"),
    )
