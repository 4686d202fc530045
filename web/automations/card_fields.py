"""Fields of cards that a schema alone does not describe: times, durations, pickers, names with values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hub.automation.definition.values import is_template
from hub.automation.triggers.scheduled import offset
from hub.config.edit import parse_value
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import Invalid
from web.automations.form_kinds import CONDITION, TRIGGER
from web.core.form_fields import MISSING, Control, control_of, parse_text

Fields = Mapping[str, Sequence[str]]

TIMES = frozenset({(TRIGGER, "time", "at"), (CONDITION, "time", "after"), (CONDITION, "time", "before")})
MOMENTS = frozenset({(TRIGGER, "at", "at"), (TRIGGER, "every", "anchor")})
PICKS: Mapping[str, str] = {
    "entity_id": "entity",
    "action": "service",
    "service": "service",
    "agent": "agent",
    "person": "person",
    "device_id": "device",
    "area_id": "area",
    "model": "model",
    "channel": "channel",
    "icon": "icon",
}
"""What is picked, by key, where a text or a list of texts may stand."""
STATES = frozenset({"from", "to", "not_from", "not_to", "state"})
"""Keys of which one text is usual and a list is possible."""
KEY, VALUE = ":key", ":value"
"""Behind the name of a field of pairs, in the names of its two columns."""

_ON_OFF = ("on", "off")
_STATES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("binary_sensor", "fan", "input_boolean", "light", "script", "siren", "switch"), _ON_OFF),
    **dict.fromkeys(("automation", "humidifier", "remote"), _ON_OFF),
    **dict.fromkeys(("person", "device_tracker"), ("home", "not_home")),
    "cover": ("open", "closed", "opening", "closing"),
    "lock": ("locked", "unlocked"),
    "media_player": ("playing", "paused", "idle", "off"),
    "climate": ("heat", "cool", "auto", "off"),
    "vacuum": ("cleaning", "docked", "returning", "error"),
    "sun": ("above_horizon", "below_horizon"),
}

_TIME = re.compile(r"(\d{1,2})[:.h]?(\d\d)?(?:[:.](\d\d))?\s*(?:([ap])\.?m\.?)?", re.IGNORECASE)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?")
_PAIR = re.compile(r"([\w.-]+): ?(.*)")
_UNITS = (
    (86_400, re.compile(r"d|days?|天", re.IGNORECASE)),
    (3_600, re.compile(r"h|hrs?|hours?|小时|个小时", re.IGNORECASE)),
    (60, re.compile(r"m|mins?|minutes?|分|分钟", re.IGNORECASE)),
    (1, re.compile(r"s|secs?|seconds?|秒|秒钟", re.IGNORECASE)),
)
_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)?)\s*([a-z\u4e00-\u9fff]+)\s*(?:and\s+)?", re.IGNORECASE)


def card_control(
    where: tuple[str, str], name: str, key: str, schema: Mapping[str, Any], value: Any = MISSING, *, required: bool
) -> Control:
    """Return the field for a value of a card.

    Args:
        where: What the card is, and its kind.
        name: Under which it is posted.
        schema: JSON Schema of the value.
        value: What it is now; MISSING when the key is not there.
    """
    schema = _flat(schema) if isinstance(value, dict) else _without_mappings(_flat(schema))
    plain = control_of(name, key, schema, value, required=required)
    if _is_duration(key, schema) and (value in (MISSING, None) or _whole_seconds(value) is not None):
        shown = "" if value in (MISSING, None) else clock_text(_whole_seconds(value) or 0)
        return replace(plain, kind="duration", shown=shown, signed=key.endswith("offset"))
    if (*where, key) in TIMES and (value is MISSING or (isinstance(value, str) and read_time(value) is not None)):
        return replace(plain, kind="time", shown="" if value is MISSING else str(read_time(value)), many=False)
    if (*where, key) in MOMENTS and (value is MISSING or (isinstance(value, str) and _MOMENT.fullmatch(value))):
        return replace(plain, kind="datetime", shown="" if value is MISSING else value.replace(" ", "T"))
    if key in PICKS and plain.kind in ("text", "lines") and _is_named(value):
        return replace(plain, kind="pick", shown=plain.shown.replace("\n", ", "))
    if key in STATES and plain.kind in ("text", "lines") and not isinstance(value, list):
        return replace(plain, kind="text")
    return _loose(plain, schema, value)


def _loose(plain: Control, schema: Mapping[str, Any], value: Any) -> Control:
    """Return a better field than YAML where the value allows one."""
    if plain.kind not in ("yaml", "text"):
        return plain
    types = set(_types(schema))
    if "array" in types and isinstance(value, list) and value and all(_is_line(each) for each in value):
        return replace(plain, kind="lines", shown="\n".join(str(each) for each in value), many=True)
    if plain.kind == "yaml" and "array" in types and value is MISSING and (schema.get("items") or {}).get("type"):
        return replace(plain, kind="lines", many=True)
    if plain.kind == "yaml" and "object" in types and not schema.get("properties"):
        pairs = {} if value in (MISSING, None) else value
        if isinstance(pairs, dict) and all(_PAIR.fullmatch(f"{key}: ") for key in pairs) and _are_lines(pairs):
            return replace(plain, kind="pairs", shown="\n".join(f"{key}: {_text(each)}" for key, each in pairs.items()))
    return plain


def posted_text(control: Control, fields: Fields) -> str | None:
    """Return the posted text of a field; None when there is none."""
    if control.kind == "pairs":
        keys, values = fields.get(f"{control.name}{KEY}"), fields.get(f"{control.name}{VALUE}")
        if keys is None or values is None:
            return None
        rows = zip(keys, values, strict=False)
        return "\n".join(f"{key.strip()}: {value.strip()}" for key, value in rows if key.strip())
    values = fields.get(control.name)
    if values is None:
        return None
    joins = {"choices": "\n", "entity": ", ", "service": ", ", "pick": ", "}.get(control.kind)
    text = values[-1] if joins is None else joins.join(value for value in values if value)
    return text.replace("\r\n", "\n")


def is_unchanged(control: Control, text: str) -> bool:
    """Whether a posted text means what the field showed."""
    if text.rstrip("\n") == control.shown.rstrip("\n"):
        return True
    match control.kind:
        case "time":
            return bool(text) and read_time(text) == control.shown
        case "duration":
            return bool(text) and read_duration(text) == control.shown
        case "datetime":
            return bool(text) and text.removesuffix(":00") == control.shown.removesuffix(":00")
    return False


def card_value(control: Control, text: str, old: Any = MISSING) -> Any:
    """Return the value of a posted text; MISSING for none.

    Args:
        old: The value before, whose unchanged parts stay as they are.

    Raises:
        InvalidRequest: It means none; the message is for people.
    """
    if not text.strip():
        return MISSING
    match control.kind:
        case "time":
            found = read_time(text)
            if found is None:
                raise InvalidRequest(phrase("expected a time of day such as 7:30, got {text}", text=text[:40]))
            return found
        case "duration":
            return read_duration(text)
        case "datetime":
            return text.strip().replace("T", " ")
        case "pairs":
            return _pairs(text, old if isinstance(old, Mapping) else {})
        case "pick" if not control.many:
            return text.strip()
        case "lines" if "string" not in control.types:
            return [line.strip() for line in text.split("\n") if line.strip()]
        case "text" if control.key in STATES:
            return text.strip()
    return parse_text(replace(control, kind="entity") if control.kind == "pick" else control, text)


def parse_pairs(text: str) -> dict[str, str]:
    """Return the names and values of a field of pairs."""
    return {found[1]: found[2] for line in text.split("\n") if (found := _PAIR.fullmatch(line))}


def states_of(entity_id: str) -> tuple[str, ...]:
    """Return the usual states of entities of this kind; none when they are unknown."""
    return _STATES.get(entity_id.partition(".")[0], ())


def read_time(text: str) -> str | None:
    """Return `07:30`, or `07:30:15`, for typed times: `7:30am`, `7.30`, `730`, `19h`; None when it is not a time."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    first, second, third, half = found.groups()
    hour, minute, rest = int(first), int(second or 0), int(third or 0)
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    if hour > 23 or minute > 59 or rest > 59:
        return None
    return f"{hour:02}:{minute:02}" + (f":{rest:02}" if rest else "")


def read_duration(text: str) -> str:
    """Return `00:05:00` for typed durations: `5 min`, `1h 30m`, `90`; the text itself when it is not a duration."""
    said = text.strip()
    sign = said[:1] if said[:1] in "+-" and said else ""
    body = said.removeprefix(sign).strip() if sign else said
    seconds = _spelled(body)
    if seconds is None:
        found = _whole_seconds(body)
        if found is None:
            return said
        seconds = found
    return clock_text(-seconds if sign == "-" else seconds)


def clock_text(seconds: int) -> str:
    """Return seconds as hours, minutes and seconds: `01:30:00`, with a minus when they are before."""
    total = abs(seconds)
    return f"{'-' if seconds < 0 else ''}{total // 3_600:02}:{total // 60 % 60:02}:{total % 60:02}"


def _spelled(text: str) -> int | None:
    total, end = 0.0, 0
    for part in _AMOUNT.finditer(text):
        unit = next((size for size, names in _UNITS if names.fullmatch(part[2])), None)
        if part.start() != end or unit is None:
            return None
        total, end = total + float(part[1].replace(",", ".")) * unit, part.end()
    return int(total) if end and end == len(text) and total == int(total) else None


def _whole_seconds(value: Any) -> int | None:
    if is_template(value):
        return None
    try:
        seconds = float(offset(value))
    except (Invalid, ValueError, TypeError):
        return None
    return int(seconds) if seconds == int(seconds) else None


def _is_duration(key: str, schema: Mapping[str, Any]) -> bool:
    branches = schema.get("anyOf", ())
    return key == "timeout" or any("hours" in (each.get("properties") or {}) for each in branches)


def _flat(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema whose alternatives are not nested, without that of nothing at all."""
    branches = [each for each in schema.get("anyOf", ()) if each != {"const": None}]
    if not branches or any("hours" in (each.get("properties") or {}) for each in branches):
        return schema
    inner = [one for each in branches for one in each.get("anyOf", [each]) if one != {"const": None}]
    without = [each for each in inner if each.get("type") != "object" or len(inner) == 1]
    rest = {key: each for key, each in schema.items() if key != "anyOf"}
    return {**rest, **without[0]} | rest if len(without) == 1 else {**rest, "anyOf": without or inner}


def _without_mappings(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without the mappings that a text may replace."""
    found = dict(schema)
    types = schema.get("type")
    if isinstance(types, list) and {"string", "object"} <= {*types} and "array" not in types and "null" not in types:
        found["type"] = [each for each in types if each != "object"]
    if isinstance(schema.get("items"), Mapping):
        found["items"] = _without_mappings(schema["items"])
    if "anyOf" in schema and not any("hours" in (each.get("properties") or {}) for each in schema["anyOf"]):
        found["anyOf"] = [_without_mappings(each) for each in schema["anyOf"]]
    return found


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    found = schema.get("type", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _is_named(value: Any) -> bool:
    """Whether a picker can show the value: names, and no template."""
    values = value if isinstance(value, list) else [] if value in (MISSING, None) else [value]
    return all(isinstance(each, str) and each and "," not in each and not is_template(each) for each in values)


def _is_line(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and "\n" not in str(value)


def _are_lines(pairs: Mapping[str, Any]) -> bool:
    return all(
        isinstance(each, bool) or (_is_line(each) and _text(each).strip() == _text(each)) for each in pairs.values()
    )


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _pairs(text: str, old: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.split("\n"):
        pair = _PAIR.fullmatch(line)
        if pair is None:
            raise InvalidRequest(
                phrase("{name} is not a name: use letters, digits and _", name=line.partition(": ")[0])
            )
        key, said = pair.groups()
        found[key] = old[key] if key in old and _text(old[key]) == said else _scalar(said)
    return found


def _scalar(text: str) -> Any:
    if is_template(text):
        return text
    try:
        found = parse_value(text)
    except InvalidRequest:
        return text
    return found if isinstance(found, (str, int, float, bool)) else text
