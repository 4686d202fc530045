"""Fields from selectors: the kind of field for an input, its value as text, and the text as a value.

Whatever a field cannot show without losing something of it is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.automation.definition.values import is_template
from hub.config.edit import parse_value
from hub.config.render import block, inline
from hub.core.errors import InvalidRequest
from web.core.form_fields import MISSING, field_id
from web.core.suggestions import Option, Suggestions
from web.settings.yaml_data import without_tags

TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?")
CLOCK = re.compile(r"(?:\d+:)?\d+:\d+|(?:\d+ ?[dhms] ?)+")
"""Durations that boxes for hours, minutes and seconds can show."""
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")

_UNITS = (("days", "d"), ("hours", "h"), ("minutes", "m"), ("seconds", "s"))
_KINDS = {
    "boolean": "boolean",
    "constant": "constant",
    "number": "number",
    "color_temp": "number",
    "time": "time",
    "date": "date",
    "datetime": "datetime",
    "duration": "duration",
    "color_rgb": "colour",
    "template": "template",
    "agent": "choice",
    "conversation_agent": "choice",
    "person": "choice",
    **dict.fromkeys(("entity", "device", "area", "floor", "label"), "suggest"),
    "channel": "suggest",
    "session": "suggest",
    "model": "suggest",
    "tool": "suggest",
    **dict.fromkeys(("text", "attribute", "state", "icon", "language", "country"), "text"),
}
"""Kinds of fields by kind of selector; the others are YAML."""
_PICKED = frozenset({"entity", "device", "area", "floor", "label", "model", "channel", "session", "tool"})
OPTIONS_LIMIT = 200
"""More are looked for by name, not listed."""
_MANY = {"choice": "choices", "suggest": "many", "text": "many"}
"""The kind of a control that takes several values."""


class InputControl(Struct, frozen=True):
    """One field of a form.

    Attributes:
        name: Under which it is posted.
        key: Its key in YAML.
        label: Its name for people.
        kind: text, long, template, number, boolean, constant, choice, choices, suggest, many, time, date, datetime,
            duration, colour or yaml.
        shown: Its texts; one, but for `choices` and `many`.
        options: The choices or suggestions.
        default: The value used when none is given; MISSING when one is required.
        low, high, step, unit: The bounds, step and unit of a number.
        slider: Whether a number is also a slider.
        constant: The value of a `constant` that is on.
        pick: The kind of picker, such as `entity`; empty when it is typed.
    """

    name: str
    key: str
    label: str
    kind: str
    shown: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    description: str = ""
    required: bool = False
    default: Any = MISSING
    low: float | None = None
    high: float | None = None
    step: str = "any"
    unit: str = ""
    slider: bool = False
    constant: Any = None
    pick: str = ""
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The field as templates and JSON see it."""
        text = "\n".join(self.shown)
        return {
            "name": self.name,
            "id": field_id(self.name),
            "key": self.key,
            "label": self.label,
            "kind": self.kind,
            "shown": text,
            "chosen": list(self.shown),
            "options": [{"value": value, "label": label} for value, label in self.options[:OPTIONS_LIMIT]],
            "pick": self.pick,
            "description": self.description,
            "required": self.required,
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "unit": self.unit,
            "slider": self.slider,
            "error": self.error,
            "rows": min(max(text.count("\n") + 1, 3), 20),
        }


def input_control(
    prefix: str, field: Mapping[str, Any], suggestions: Suggestions, value: Any = MISSING
) -> InputControl:
    """Return the field of an input.

    Args:
        prefix: Put in front of its key in the name under which it is posted.
        field: The input, as `InputField.as_dict` has it.
        value: Its present value; MISSING for its default.
    """
    selector = field["selector"]
    default = MISSING if field["required"] else field["default"]
    now = default if value is MISSING else value
    options = suggestions.options(selector)
    kind = _kind(selector)
    pick = selector["type"] if kind in {"suggest", "many"} and selector["type"] in _PICKED and _is_plain(now) else ""
    if kind in {"choice", "choices"} or pick:
        options = _with_those_chosen(options, now)
    low = selector.get("min", selector.get("min_mireds"))
    high = selector.get("max", selector.get("max_mireds"))
    bounded = low is not None and high is not None
    constant = selector.get("value")
    try:
        shown = _shown(kind, now, constant)
        if kind == "duration" and shown and not CLOCK.fullmatch(shown[0]):
            kind = "text"
    except ValueError:
        kind, options, pick, shown = "yaml", (), "", _shown("yaml", now, constant)
    return InputControl(
        name=f"{prefix}{field['key']}",
        key=field["key"],
        label=field["name"],
        kind=kind,
        shown=shown,
        options=options,
        description=field["description"],
        required=field["required"],
        default=default,
        low=low,
        high=high,
        step=_step(kind, selector),
        unit=str(selector.get("unit_of_measurement") or selector.get("unit") or ""),
        slider=kind == "number" and bounded and selector.get("mode", "slider") == "slider",
        constant=constant,
        pick=pick,
    )


def texts_of(control: InputControl, texts: Sequence[str]) -> tuple[str, ...]:
    """Return posted texts as the field shows them."""
    if control.kind in {"choices", "many"}:
        return tuple(text for text in texts if text.strip())
    text = texts[-1].rstrip("\n") if texts else ""
    if control.kind in {"time", "datetime"} and text.count(":") == 2:
        text = text.removesuffix(":00")  # which a browser leaves out
    return (text,) if texts else ()


def is_same(control: InputControl, texts: Sequence[str]) -> bool:
    """Whether posted texts are those that the field showed; nothing is as good as an empty text."""
    return (texts_of(control, texts) or ("",)) == (texts_of(control, control.shown) or ("",))


def parse_texts(control: InputControl, texts: Sequence[str]) -> Any:
    """Return the value of posted texts; MISSING for none.

    Raises:
        InvalidRequest: They mean none; the message is for people.
    """
    if control.kind in {"choices", "many"}:
        found = [each.strip() for each in texts if each.strip()]
        return found if found or control.default not in (MISSING, [], None) else MISSING
    text = texts[-1] if texts else ""
    if control.kind in {"text", "long", "template", "suggest"}:
        return _text(control, text if control.kind in {"long", "template"} else text.strip())
    text = text.strip()
    if control.kind == "boolean":
        return text in {"true", "on"} if text else MISSING
    if control.kind == "constant":
        return control.constant if text in {"true", "on"} else MISSING
    if not text:
        return MISSING
    match control.kind:
        case "number":
            return _number(text)
        case "datetime":
            day, _, time = text.replace("T", " ").partition(" ")
            return f"{day} {time}" if time.count(":") != 1 else f"{day} {time}:00"
        case "colour":
            return _colour(text)
        case "yaml":
            return _yaml(text)
        case _:
            return text


def _kind(selector: Mapping[str, Any]) -> str:
    type = selector["type"]
    if type == "select":
        kind = "suggest" if selector.get("custom_value") else "choice"
    elif type == "text" and selector.get("multiline"):
        kind = "long"
    elif type == "channel" and not selector.get("address"):
        kind = "suggest"
    else:
        kind = _KINDS.get(type, "yaml")
    return _MANY.get(kind, "yaml") if selector.get("multiple") else kind


def _step(kind: str, selector: Mapping[str, Any]) -> str:
    if kind in {"time", "datetime"}:
        return "60" if selector.get("no_second") else "1"
    return _plain(selector["step"]) if "step" in selector else "any"


def _is_plain(value: Any) -> bool:
    """Whether a value is what a picker gives: names, no template and no mapping."""
    found = value if isinstance(value, list) else [] if value in (MISSING, None) else [value]
    return all(isinstance(each, str) and not is_template(each) for each in found)


def _with_those_chosen(options: tuple[Option, ...], value: Any) -> tuple[Option, ...]:
    """A value that is not an option stays until someone changes it."""
    chosen = value if isinstance(value, list) else [value]
    known = {each for each, _ in options}
    more = [(each, each) for each in chosen if isinstance(each, str) and each and each not in known]
    return (*options, *more)


def _shown(kind: str, value: Any, constant: Any) -> tuple[str, ...]:
    """Return a value as the texts of a field; ValueError when the field cannot show it."""
    if value is MISSING or value is None:
        return ()
    match kind:
        case "yaml":
            return ("\n".join(block(value, 0)),)
        case "choices" | "many":
            return tuple(_line(each) for each in (value if isinstance(value, list) else [value]))
        case "boolean" if isinstance(value, bool):
            return ("true" if value else "false",)
        case "constant":
            return ("true",) if value == constant else ()
        case "number" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return (_plain(value),)
        case "time" if isinstance(value, str) and TIME.fullmatch(value):
            return (value,)
        case "date" if isinstance(value, str) and DATE.fullmatch(value):
            return (value,)
        case "datetime" if isinstance(value, str) and DATE_TIME.fullmatch(value):
            return (value.replace(" ", "T"),)
        case "duration":
            return (_duration(value),)
        case "colour" if isinstance(value, list) and len(value) == 3:
            return ("#" + "".join(f"{int(each) & 255:02x}" for each in value),)
        case "long" | "template" if isinstance(value, str):
            return (value,)
        case "suggest" if isinstance(value, dict) and value:
            return (inline(value),)
        case "text" | "suggest" | "choice":
            return (_line(value),)
    raise ValueError(kind)


def _line(value: Any) -> str:
    text = _plain(value)
    if "\n" in text:
        raise ValueError("expected a single line")
    return text


def _plain(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("expected text")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _duration(value: Any) -> str:
    if isinstance(value, str):
        return _line(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{_plain(value)}s"
    if not isinstance(value, dict) or value.keys() - {name for name, _ in _UNITS}:
        raise ValueError("expected a duration that fits on one line")
    return " ".join(f"{_plain(value[name])}{unit}" for name, unit in _UNITS if value.get(name)) or "0s"


def _text(control: InputControl, text: str) -> Any:
    """An emptied field is empty text where something else would replace it."""
    if not text.strip():
        return MISSING if control.default in (MISSING, None, "") else ""
    if control.kind == "suggest" and text.startswith("{") and not text.startswith(("{{", "{%", "{#")):
        return _yaml(text)
    return text.rstrip("\n")


def _number(text: str) -> int | float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = float("nan")
    if number != number or abs(number) == float("inf"):
        raise InvalidRequest(f"{text[:40]!r} is not a number")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _colour(text: str) -> list[int]:
    if not COLOUR.fullmatch(text):
        raise InvalidRequest(f"{text[:40]!r} is not a colour such as #ff8800")
    return [int(text[at : at + 2], 16) for at in (1, 3, 5)]


def _yaml(text: str) -> Any:
    try:
        found = parse_value(text)
    except InvalidRequest as error:
        raise InvalidRequest("this is not valid YAML") from error
    return without_tags(found, secrets=True)
