"""Selectors: the types of a blueprint's inputs, Home Assistant's and a few of our own.

Each kind knows which options it has and which values fit. Options that only arrange the form are for the dashboard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from msgspec import Struct, field

from hub.automation.blueprints import selector_values as values
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.core.schema import AnyOf, In, Invalid, Optional, Required, Schema, boolean, number, show, string

SELECTOR_TEXT = "text"
"""The kind of an input that names none."""

Check = Callable[[Any, Mapping[str, Any]], Any]


class SelectorKind(Struct, frozen=True):
    """A kind of selector.

    Attributes:
        check: Returns a value that fits the options, or raises `Invalid`.
        options: Schema of its options.
        can_be_many: Whether `multiple: true` makes it a list of such values.
    """

    check: Check
    options: Mapping[Any, Any] = field(default_factory=dict)
    can_be_many: bool = False


def _texts(value: Any) -> list[str]:
    found = value if isinstance(value, list) else [value]
    return [string(each) for each in found]


def _number_or(word: str) -> Any:
    return AnyOf(number, In((word,)))


def _option(value: Any) -> Any:
    """Accept an option of a select: text, or {label, value}."""
    if isinstance(value, dict):
        return Schema({Required("label"): string, Required("value"): string})(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return string(value)


_FILTER = Schema(
    {
        Optional("integration"): string,
        Optional("domain"): _texts,
        Optional("device_class"): _texts,
        Optional("supported_features"): _texts,
        Optional("unit_of_measurement"): _texts,
        Optional("manufacturer"): string,
        Optional("model"): string,
        Optional("model_id"): string,
    }
)


def _filters(value: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [_FILTER(each) for each in (value if isinstance(value, list) else [value])]
    return found


def _chosen(value: Any, options: Mapping[str, Any]) -> Any:
    """Accept what fits any of the choices; telling them apart is up to the form."""
    if isinstance(value, dict) and value.get("active_choice") in options["choices"]:
        key = value["active_choice"]
        name, inner = options["choices"][key]
        return check_value(value.get(key), name, inner)
    errors = []
    for name, inner in options["choices"].values():
        try:
            return check_value(value, name, inner)
        except Invalid as error:
            errors.append(error.msg)
    raise Invalid(
        reduce(lambda one, other: phrase("{one}; or {other}", one=one, other=other), dict.fromkeys(errors))
        if errors
        else phrase("there are no choices")
    )


_MULTIPLE = {Optional("multiple"): boolean}
_OF_ENTITY = {Optional("entity_id"): _texts, Optional("multiple"): boolean}
_OF_PLACE = {
    Optional("entity"): _filters,
    Optional("device"): _filters,
    Optional("reorder"): boolean,
    **_MULTIPLE,
}
_RANGE = {Optional("min"): number, Optional("max"): number}

KINDS: Mapping[str, SelectorKind] = {
    "action": SelectorKind(values.steps, {Optional("optionsInSidebar"): boolean}),
    "agent": SelectorKind(values.slug_value, _MULTIPLE, can_be_many=True),
    "area": SelectorKind(values.text, _OF_PLACE, can_be_many=True),
    "attribute": SelectorKind(values.text, {**_OF_ENTITY, Optional("hide_attributes"): _texts}, can_be_many=True),
    "boolean": SelectorKind(values.true_or_false),
    "channel": SelectorKind(values.channel, {Optional("address"): boolean, **_MULTIPLE}, can_be_many=True),
    "choose": SelectorKind(_chosen, {Required("choices"): {string: dict}, Optional("translation_key"): string}),
    "color_rgb": SelectorKind(values.color),
    "color_temp": SelectorKind(
        values.number_value,
        {
            **_RANGE,
            Optional("unit"): In(("kelvin", "mired")),
            Optional("min_mireds"): number,
            Optional("max_mireds"): number,
        },
    ),
    "condition": SelectorKind(values.condition_list),
    "constant": SelectorKind(
        values.constant,
        {Required("value"): object, Optional("label"): string, Optional("translation_key"): string},
    ),
    "conversation_agent": SelectorKind(values.slug_value, {Optional("language"): string}),
    "country": SelectorKind(values.text, {Optional("countries"): _texts, Optional("no_sort"): boolean}),
    "date": SelectorKind(values.date_value),
    "datetime": SelectorKind(values.datetime_value),
    "device": SelectorKind(
        values.text,
        {
            Optional("integration"): string,
            Optional("manufacturer"): string,
            Optional("model"): string,
            Optional("model_id"): string,
            Optional("filter"): _filters,
            Optional("entity"): _filters,
            **_MULTIPLE,
        },
        can_be_many=True,
    ),
    "duration": SelectorKind(
        values.duration_value,
        {
            Optional("enable_day"): boolean,
            Optional("enable_millisecond"): boolean,
            Optional("enable_second"): boolean,
            Optional("allow_negative"): boolean,
        },
    ),
    "entity": SelectorKind(
        values.entity,
        {
            Optional("domain"): _texts,
            Optional("device_class"): _texts,
            Optional("integration"): string,
            Optional("filter"): _filters,
            Optional("include_entities"): _texts,
            Optional("exclude_entities"): _texts,
            Optional("reorder"): boolean,
            **_MULTIPLE,
        },
        can_be_many=True,
    ),
    "floor": SelectorKind(values.text, _OF_PLACE, can_be_many=True),
    "icon": SelectorKind(values.icon, {Optional("placeholder"): string}),
    "label": SelectorKind(values.text, _MULTIPLE, can_be_many=True),
    "language": SelectorKind(
        values.text,
        {Optional("languages"): _texts, Optional("native_name"): boolean, Optional("no_sort"): boolean},
    ),
    "location": SelectorKind(values.location, {Optional("radius"): boolean, Optional("icon"): string}),
    "model": SelectorKind(values.text, _MULTIPLE, can_be_many=True),
    "number": SelectorKind(
        values.number_value,
        {
            **_RANGE,
            Optional("step"): _number_or("any"),
            Optional("mode"): In(("box", "slider")),
            Optional("unit_of_measurement"): string,
            Optional("translation_key"): string,
        },
    ),
    "object": SelectorKind(
        values.anything,
        {
            Optional("fields"): dict,
            Optional("label_field"): string,
            Optional("description_field"): string,
            Optional("translation_key"): string,
            **_MULTIPLE,
        },
    ),
    "person": SelectorKind(values.slug_value, _MULTIPLE, can_be_many=True),
    "select": SelectorKind(
        values.option,
        {
            Required("options"): [_option],
            Optional("custom_value"): boolean,
            Optional("mode"): In(("list", "dropdown", "box")),
            Optional("sort"): boolean,
            Optional("translation_key"): string,
            **_MULTIPLE,
        },
        can_be_many=True,
    ),
    "session": SelectorKind(values.session),
    "state": SelectorKind(
        values.text,
        {**_OF_ENTITY, Optional("attribute"): string, Optional("hide_states"): _texts, Optional("extra_options"): list},
        can_be_many=True,
    ),
    "target": SelectorKind(values.target, {Optional("entity"): _filters, Optional("device"): _filters}),
    "template": SelectorKind(values.template_value),
    "text": SelectorKind(
        values.text,
        {
            Optional("multiline"): boolean,
            Optional("prefix"): string,
            Optional("suffix"): string,
            Optional("type"): string,
            Optional("autocomplete"): string,
            **_MULTIPLE,
        },
        can_be_many=True,
    ),
    "time": SelectorKind(values.time_value, {Optional("no_second"): boolean}),
    "tool": SelectorKind(values.text, _MULTIPLE, can_be_many=True),
    "trigger": SelectorKind(values.trigger_list),
}

NOTHING_LIKE_IT: Mapping[str, str] = {
    **dict.fromkeys(("addon", "app", "backup_location", "config_entry"), phrase("add-ons and config entries")),
    "assist_pipeline": phrase("assist pipelines"),
    **dict.fromkeys(("file", "media", "image"), phrase("uploads and media players")),
    **dict.fromkeys(("statistic", "state_class", "device_class"), phrase("statistics")),
    "theme": phrase("themes of dashboards"),
    "qr_code": phrase("QR codes in forms"),
}
"""Selectors of Home Assistant for what does not exist here: such an input stays empty."""


def read_selector(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind of a selector and its options.

    Args:
        value: `{kind: options}`; nothing means one line of text.

    Raises:
        Invalid: There is no such kind, or it has no such options.
    """
    if value is None:
        return SELECTOR_TEXT, {}
    if isinstance(value, str):
        value = {value: None}
    if not isinstance(value, dict) or len(value) != 1:
        raise Invalid(
            phrase("expected a selector, such as text: or number: {{min: 1, max: 5}}, got {value}", value=show(value))
        )
    ((name, options),) = value.items()
    if name in NOTHING_LIKE_IT:
        return name, {}
    kind = KINDS.get(name)
    if kind is None:
        hint = did_you_mean(str(name), KINDS) or phrase(
            "{known}: {names}", known=phrase("there are"), names=list(KINDS)
        )
        raise Invalid(phrase("there is no selector {value}; {hint}", value=show(name), hint=hint), path=[name])
    try:
        found: dict[str, Any] = Schema({Optional("read_only"): boolean, **kind.options})(options or {})
    except Invalid as error:
        error.prepend([name])
        raise
    if name == "choose":
        found["choices"] = {key: _choice(key, each) for key, each in found["choices"].items()}
    return name, found


def check_value(value: Any, name: str, options: Mapping[str, Any]) -> Any:
    """Return a value that fits a selector.

    Raises:
        Invalid: It does not; with the path inside it.
    """
    if name in NOTHING_LIKE_IT:
        if value in ("", [], {}):
            return value
        raise Invalid(phrase("there are no {things} here; leave it empty: []", things=NOTHING_LIKE_IT[name]))
    kind = KINDS[name]
    if not (kind.can_be_many and options.get("multiple")):
        return kind.check(value, options)
    if not isinstance(value, list):
        raise Invalid(phrase("expected a list, got {value}", value=show(value)))
    found = []
    for index, each in enumerate(value):
        try:
            found.append(kind.check(each, options))
        except Invalid as error:
            error.prepend([index])
            raise
    return found


def _choice(key: str, value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    try:
        return read_selector(value.get("selector"))
    except Invalid as error:
        error.prepend(["choose", "choices", key, "selector"])
        raise
