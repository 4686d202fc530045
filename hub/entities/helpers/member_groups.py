"""The platform `group`: lights, switches, covers, fans, locks, players, sensors … as one entity of their kind.

Source: the documentation of this integration of Home Assistant, and the answers of its core.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Length, Optional, Required, boolean, string
from hub.core.states import EntityState
from hub.entities.helpers.contract import Held, HeldCall, HelperHome, HelperKind, HelperService, Settings
from hub.entities.helpers.groups import ENTITIES, MEMBERS_LIMIT
from hub.entities.helpers.readings import NOTHING, reading, unit_of

States: TypeAlias = Sequence[EntityState]
Shape: TypeAlias = tuple[str | None, dict[str, Any], dict[str, Any]]
"""A state, the attributes that belong to it, and those that are shown while it is unavailable too."""


def _values(states: States, key: str) -> list[Any]:
    return [value for each in states if (value := each.attributes.get(key)) is not None]


def _mean(states: States, key: str) -> Any:
    """Return the mean of an attribute, of a colour by its parts; None where none has it."""
    found = _values(states, key)
    if len(found) < 2:
        return found[0] if found else None
    if isinstance(found[0], list | tuple):
        means = (sum(parts) / len(found) for parts in zip(*found, strict=True))
        return tuple(map(int, means) if isinstance(found[0][0], int) else means)
    return int(sum(found) / len(found))


def _commonest(values: Iterable[Any]) -> Any:
    return next((value for value, _ in Counter(values).most_common(1)), None)


def _features(states: States, among: int) -> dict[str, Any]:
    found = 0
    for each in _values(states, "supported_features"):
        found |= int(each)
    return {"supported_features": found & among}


def _on_off(settings: Settings, states: States) -> str | None:
    """Return on while one is, or with `all` while all are; None while one, or all, says nothing."""
    votes = all if settings.get("all") else any
    if not votes(each.state not in NOTHING for each in states):
        return None
    return "on" if votes(each.state == "on" for each in states) else "off"


# --- what each kind is like ---


def _switch(settings: Settings, states: States) -> Shape:
    return _on_off(settings, states), {}, {}


_COLORS = frozenset({"hs", "xy", "rgb", "rgbw", "rgbww"})
_PLAIN = ("onoff", "brightness")


def _light(settings: Settings, states: States) -> Shape:
    state, on = _on_off(settings, states), [each for each in states if each.state == "on"]
    modes = {mode for each in _values(states, "supported_color_modes") for mode in each} or {"onoff"}
    for plain in _PLAIN:
        if len(modes) > 1:
            modes.discard(plain)
    effects = {effect for each in _values(states, "effect_list") for effect in each}
    always: dict[str, Any] = {"supported_color_modes": sorted(modes), **_features(states, 4 + 8 + 32)}
    has_effects = bool(always["supported_features"] & 4)
    if has_effects:
        always["effect_list"] = sorted(effects, key=lambda each: (each != "None", each))
    if "color_temp" in modes:
        low = min(_values(states, "min_color_temp_kelvin"), default=2000)
        high = max(_values(states, "max_color_temp_kelvin"), default=6500)
        always |= {"min_color_temp_kelvin": low, "max_color_temp_kelvin": high}
        always |= {"min_mireds": 1_000_000 // high, "max_mireds": 1_000_000 // low}
    mode = _mode(on, modes) if state == "on" else None
    told: dict[str, Any] = {"color_mode": mode}
    if has_effects:
        told["effect"] = _commonest(_values(on, "effect")) if state == "on" else None
    if modes - {"onoff"}:
        told["brightness"] = _mean(on, "brightness") if mode not in (None, "onoff", "unknown") else None
    if "color_temp" in modes:
        kelvin = _mean(on, "color_temp_kelvin") if mode == "color_temp" else None
        told |= {"color_temp_kelvin": kelvin, "color_temp": 1_000_000 // kelvin if kelvin else None}
    if modes & {*_COLORS, "color_temp"}:
        for each in ("hs", "rgb", "xy", *(mode for mode in ("rgbw", "rgbww") if mode in modes)):
            key = f"{each}_color"
            told[key] = _mean([one for one in on if one.attributes.get("color_mode") == mode], key)
    return state, told, always


def _mode(on: States, modes: set[str]) -> str:
    """Return the commonest colour mode, those without a colour last."""
    found = Counter(_values(on, "color_mode"))
    for rank, plain in enumerate(_PLAIN):
        if plain in found:
            found[plain] = rank - 1
            if plain not in modes:
                del found[plain]
    return str(_commonest(found) if found else min(modes) if _values(on, "color_mode") else "unknown")


def _cover(settings: Settings, states: States) -> Shape:
    said = {each.state for each in states}
    state = next((each for each in ("opening", "closing", "open") if each in said), "closed")
    places = {f"current_{key}": _mean(_able(states, flag), f"current_{key}") for key, flag in _PLACES.items()}
    told = {key: value for key, value in places.items() if value is not None}
    always = _features(states, 255)
    for pair in (1 + 2, 16 + 32):
        if always["supported_features"] & pair:
            always["supported_features"] |= pair
    return state if said - {*NOTHING} else None, told, always


_PLACES = {"position": 4, "tilt_position": 128}


def _able(states: States, flag: int) -> list[EntityState]:
    """Return those that can do something, as far as they say what they can."""
    return [each for each in states if int(each.attributes.get("supported_features", flag)) & flag]


def _fan(settings: Settings, states: States) -> Shape:
    always = _features(states, 1 + 2 + 4 + 16 + 32)
    can, told = always["supported_features"], dict[str, Any]()
    if can & 4:
        told["direction"] = _commonest(_values(_able(states, 4), "direction"))
    if can & 2:
        told["oscillating"] = _commonest(_values(_able(states, 2), "oscillating"))
    if can & 1:
        steps = set(_values(_able(states, 1), "percentage_step"))
        speeds = (round(100 / steps.pop()) or 100) if len(steps) == 1 else 100
        told |= {"percentage": _mean(_able(states, 1), "percentage"), "percentage_step": 100 / speeds}
        told["preset_mode"] = always["preset_modes"] = None
    return _on_off({}, states), told, always


_LOCKS = ("jammed", "opening", "locking", "open", "unlocking")


def _lock(settings: Settings, states: States) -> Shape:
    said = {each.state for each in states}
    whole = "locked" if said == {"locked"} else "unlocked"
    state = next((each for each in _LOCKS if each in said), whole) if said - {*NOTHING} else None
    return state, {}, {"supported_features": 1}


_PLAYER = {
    "tracks": 16 + 32,
    "play": 1 + 4096 + 16384,
    "on_off": 128 + 256,
    "volume": 4 + 8 + 1024,
    "seek": 2,
    "play_media": 512,
    "clear_playlist": 8192,
    "shuffle": 32768,
    "announce": 1048576,
    "enqueue": 2097152,
}
"""Features of players: with one of a set, the group has the whole set."""


def _player(settings: Settings, states: States) -> Shape:
    said = [each.state for each in states]
    features = 0
    for mask in _PLAYER.values():
        if any(int(each) & mask for each in _values(states, "supported_features")):
            features |= mask
    one = said[0] if len(set(said)) == 1 else "on"
    return one if set(said) - {*NOTHING} else None, {}, {"supported_features": features}


def _binary(settings: Settings, states: States) -> Shape:
    return _on_off(settings, states), {}, {}


# --- sensors ---

_PREFIXES = {"m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SCALES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "power": {f"{prefix}W": (scale, 0.0) for prefix, scale in _PREFIXES.items()},
    "energy": {f"{prefix}Wh": (scale, 0.0) for prefix, scale in _PREFIXES.items()},
    "temperature": {"°C": (1.0, 0.0), "°F": (5 / 9, -160 / 9), "K": (1.0, -273.15)},
}
"""By device class: units that are converted into each other, by a factor and what is added then."""
_TYPES: Mapping[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "mean": statistics.mean,
    "median": statistics.median,
    "range": lambda values: max(values) - min(values),
    "stdev": statistics.stdev,
    "sum": lambda values: 0.0 + sum(values),
    "product": lambda values: math.prod(values, start=1.0),
}


def _sensor(settings: Settings, states: States) -> Shape:
    kind, ids = settings["type"], settings["entities"]
    numbers = {each.entity_id: value for each in states if (value := reading(each)) is not None}
    known = [each for each in states if each.entity_id in numbers]
    is_whole = settings["ignore_non_numeric"] or len(known) == len(ids)
    shared = known if is_whole else []
    told = {
        key: found
        for key in ("state_class", "device_class")
        if (found := settings.get(key) or _one_of(_values(shared, key), len(shared))) is not None
    }
    scales = _SCALES.get(told.get("device_class", ""), {})
    units = [unit_of(each) for each in shared]
    unit = settings.get("unit_of_measurement") or (
        units[0] if units and (set(units) <= scales.keys() or len(set(units)) == 1) else None
    )
    if unit is not None:
        told["unit_of_measurement"] = unit
        for each in known:
            numbers[each.entity_id] = _converted(
                numbers[each.entity_id], scales.get(unit_of(each) or ""), scales.get(unit)
            )
    if not known or (kind == "stdev" and len(known) < 2):
        return "unavailable", {}, told
    if not settings["ignore_non_numeric"] and len(known) < len(states):
        return None, {}, told
    if kind == "last":
        latest = max(known, key=lambda each: each.last_updated)
        return str(numbers[latest.entity_id]), {"last_entity_id": latest.entity_id}, told
    extra = {}
    if kind in ("min", "max"):
        extra[f"{kind}_entity_id"] = (min if kind == "min" else max)(numbers, key=numbers.__getitem__)
    return str(_TYPES[kind](list(numbers.values()))), extra, told


def _converted(value: float, source: tuple[float, float] | None, target: tuple[float, float] | None) -> float:
    if source is None or target is None or source == target:
        return value
    return (value * source[0] + source[1] - target[1]) / target[0]


def _one_of(values: list[Any], count: int) -> Any:
    return values[0] if len(values) == count and len(set(values)) == 1 else None


# --- the table ---


def _group(shape: Callable[[Settings, States], Shape]) -> Callable[[Settings, Held | None, HelperHome], Held]:
    def group(settings: Settings, held: Held | None, home: HelperHome) -> Held:
        states = [each for id in settings["entities"] if (each := home.state(id)) is not None]
        state, told, always = shape(settings, states)
        if state == "unavailable" or all(each.state == "unavailable" for each in states):
            return Held("unavailable", {**always, **_icon(settings, always)})
        return Held(state, {**always, **told, "entity_id": settings["entities"], **_icon(settings, always)})

    return group


def _icon(settings: Settings, always: Mapping[str, Any]) -> dict[str, Any]:
    icon = None if "device_class" in always else settings.get("own_icon")
    return {"icon": icon} if icon is not None and "icon" not in settings else {}


def _pressed(settings: Settings, held: Held | None, home: HelperHome) -> Held:
    """Return a group of buttons: its state is when it was pressed itself."""
    states = [state for each in settings["entities"] if (state := home.state(each)) is not None]
    last = held.memory.get("last") if held is not None else None
    if all(each.state == "unavailable" for each in states):
        return Held("unavailable", memory={"last": last})
    return Held(last, {"entity_id": settings["entities"]}, memory={"last": last})


def _press(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    last = datetime.fromtimestamp(home.now, UTC).isoformat()
    call = HeldCall("button", "press", {"entity_id": settings["entities"]})
    return Held(last, {"entity_id": settings["entities"]}, calls=(call,), memory={"last": last})


_NOT_OF_EVENTS = ("event_type", "event_types", "device_class", "friendly_name")


def _happened(settings: Settings, held: Held | None, home: HelperHome) -> Held:
    """Return a group of events: what happened last to one of its members."""
    states = {each: state for each in settings["entities"] if (state := home.state(each)) is not None}
    memory: dict[str, Any] = dict(held.memory) if held is not None else {}
    before = {} if home.starting else memory.get("seen", {})
    memory["seen"] = {each: state.state not in NOTHING for each, state in states.items()}
    changed = states.get(home.changed or "")
    kind = changed.attributes.get("event_type") if changed is not None else None
    if changed is not None and kind and before.get(changed.entity_id) and memory["seen"][changed.entity_id]:
        rest = {key: value for key, value in changed.attributes.items() if key not in _NOT_OF_EVENTS}
        at = datetime.fromtimestamp(home.now, UTC).isoformat(timespec="milliseconds")
        memory |= {"last": at, "told": {"event_type": kind, **rest}}
    kinds = {kind for state in states.values() for kind in state.attributes.get("event_types") or ()}
    always = {"event_types": sorted(kinds)}
    if not states or all(each.state == "unavailable" for each in states.values()):
        return Held("unavailable", always, memory=memory)
    told = {**always, **memory.get("told", {"event_type": None}), "entity_id": settings["entities"]}
    return Held(memory.get("last"), told, memory=memory)


def members(*domains: str) -> Any:
    """Return the schema of members that are of some domains."""

    def check(value: list[str]) -> list[str]:
        if wrong := [each for each in value if each.partition(".")[0] not in domains]:
            told = phrase("expected entities of {domains}, not {entities}", domains=list(domains), entities=wrong)
            raise Invalid(told)
        return value

    return All(ENTITIES, Length(min=1, max=MEMBERS_LIMIT), check)


def _forwards(domain: str, services: Mapping[str, int]) -> dict[str, HelperService]:
    """Return services that call the same of the members that can do it; by name, with the feature that it needs."""

    def forward(service: str, flag: int) -> HelperService:
        def serve(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
            ids = [each for each in settings["entities"] if (state := home.state(each)) is None or _able([state], flag)]
            call = HeldCall(domain, service, {**data, "entity_id": ids})
            return Held(held.state, held.attributes, held.due, calls=(call,), memory=held.memory)

        return HelperService(serve)

    return {service: forward(service, flag or -1) for service, flag in services.items()}


_ANY: Mapping[Any, Any] = {Optional("all", default=False, description="Whether it is on only while all are"): boolean}
_COVERS = {
    "open_cover": 3,
    "close_cover": 3,
    "stop_cover": 8,
    "set_cover_position": 4,
    "open_cover_tilt": 48,
    "close_cover_tilt": 48,
    "stop_cover_tilt": 64,
    "set_cover_tilt_position": 128,
}
_FANS = {"turn_on": 32, "turn_off": 16, "set_percentage": 1, "oscillate": 2, "set_direction": 4}
_PLAYERS = {
    **dict.fromkeys(("turn_on", "turn_off"), _PLAYER["on_off"]),
    **dict.fromkeys(("volume_up", "volume_down", "volume_set", "volume_mute"), _PLAYER["volume"]),
    **dict.fromkeys(("media_play", "media_pause", "media_play_pause", "media_stop"), _PLAYER["play"]),
    **dict.fromkeys(("media_next_track", "media_previous_track"), _PLAYER["tracks"]),
    "play_media": _PLAYER["play_media"],
}
_DEVICE_CLASS: Mapping[Any, Any] = {Optional("device_class", description="What it is about"): string}
_SENSOR: Mapping[Any, Any] = {
    Required("type", description="What is made of them"): In((*_TYPES, "last")),
    Optional("ignore_non_numeric", default=False, description="Whether some may say nothing"): boolean,
    Optional("unit_of_measurement", description="Its unit, in place of theirs"): string,
    Optional("state_class", description="In place of theirs"): string,
    **_DEVICE_CLASS,
}


def _kind(
    domain: str,
    name: str,
    begin: Callable[[Settings, Held | None, HelperHome], Held],
    services: Mapping[str, HelperService],
    fields: Mapping[Any, Any] = {},
    *,
    of: tuple[str, ...] = (),
    icon: str | None = None,
    is_kept: bool = False,
) -> HelperKind:
    def rule(settings: dict[str, Any]) -> dict[str, Any]:
        given = f"{name} {settings['type']}".capitalize() if "type" in settings else name
        return {"name": given, **({"own_icon": icon} if icon is not None else {}), **settings}

    return HelperKind(
        domain,
        "Several of them as one",
        {Required("entities", description="Its members"): members(*(of or (domain,))), **fields},
        begin,
        services,
        rule,
        wake=begin,
        follows=lambda settings: settings["entities"],
        is_kept=is_kept,
        has_editable=False,
        quotes=True,
        platform="group",
    )


_ON_OFF = {"turn_on": 0, "turn_off": 0}
KINDS = (
    _kind("binary_sensor", "Binary Sensor Group", _group(_binary), {}, {**_ANY, **_DEVICE_CLASS}),
    _kind("button", "Button group", _pressed, {"press": HelperService(_press)}, is_kept=True),
    _kind("cover", "Cover Group", _group(_cover), _forwards("cover", _COVERS)),
    _kind("event", "Event group", _happened, {}, is_kept=True),
    _kind("fan", "Fan Group", _group(_fan), _forwards("fan", _FANS)),
    _kind("light", "Light Group", _group(_light), _forwards("light", _ON_OFF), _ANY, icon="mdi:lightbulb-group"),
    _kind("lock", "Lock Group", _group(_lock), _forwards("lock", {"lock": 0, "unlock": 0, "open": 0})),
    _kind("media_player", "Media Group", _group(_player), _forwards("media_player", _PLAYERS)),
    _kind(
        "sensor",
        "Sensor Group",
        _group(_sensor),
        {},
        _SENSOR,
        of=("sensor", "number", "input_number"),
        icon="mdi:calculator",
    ),
    _kind("switch", "Switch Group", _group(_switch), _forwards("switch", _ON_OFF), _ANY),
)
