"""The metadata of a blueprint: the mapping under `blueprint:`, in Home Assistant's format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub import __version__
from hub.automation.blueprints.selectors import read_selector
from hub.core.phrases import phrase
from hub.core.schema import All, In, Invalid, Length, Optional, Required, Schema, boolean, show, string, url

INPUTS_LIMIT = 2_000
GRAMMAR_OF_HOME_ASSISTANT = (2026, 12)
"""Year and month of the Home Assistant whose grammar automations follow; blueprints for a later one are refused."""
DOMAINS = ("automation", "script", "template")

_VERSION = re.compile(r"(\d{1,5})\.(\d{1,5})(?:\.(\d{1,5}))?(?:\.?[a-z]+\d*)?")
_NAME = All(string, Length(min=1, max=200))
_TEXT = All(string, Length(max=20_000))


class InputField(Struct, frozen=True):
    """One input.

    Attributes:
        key: Its name in the file.
        name: Its name for people.
        selector: Kind of its selector.
        options: Options of its selector.
        default: Its value when none is given; meaningless while `required`.
        required: Whether a value must be given.
    """

    key: str
    name: str
    description: str
    selector: str
    options: Mapping[str, Any]
    default: Any
    required: bool

    def as_dict(self) -> dict[str, Any]:
        """The input as a form needs it."""
        shown: dict[str, Any] = {
            "key": self.key,
            "name": self.name,
            "description": self.description,
            "required": self.required,
            "selector": {"type": self.selector, **_shown_options(self.options)},
        }
        if not self.required:
            shown["default"] = self.default
        return shown


class InputSection(Struct, frozen=True):
    """Inputs that a form shows together; those outside any section have a section without a key."""

    key: str | None
    name: str
    description: str
    icon: str | None
    collapsed: bool
    inputs: tuple[InputField, ...]

    def as_dict(self) -> dict[str, Any]:
        """The section as a form needs it."""
        return {
            "key": self.key,
            "name": self.name,
            "description": self.description,
            "icon": self.icon,
            "collapsed": self.collapsed,
            "inputs": [each.as_dict() for each in self.inputs],
        }


class Metadata(Struct, frozen=True):
    """The metadata of a blueprint."""

    name: str
    domain: str
    description: str
    author: str | None
    icon: str | None
    source_url: str | None
    sections: tuple[InputSection, ...]

    @property
    def inputs(self) -> dict[str, InputField]:
        """All inputs by key, in the order of the file."""
        return {field.key: field for section in self.sections for field in section.inputs}


def _domain(value: Any) -> str:
    told = phrase("expected one of {names}, got {value}", names=", ".join(DOMAINS), value=show(value))
    found: str = In(DOMAINS, msg=told)(value)
    return found


def _home_assistant_version(value: Any) -> Any:
    version = _version(value)
    if version[:2] > GRAMMAR_OF_HOME_ASSISTANT:
        year, month = GRAMMAR_OF_HOME_ASSISTANT
        raise Invalid(
            phrase(
                "this blueprint needs Home Assistant {value}; automations here follow {year}.{month} and before",
                value=string(value),
                year=year,
                month=month,
            )
        )
    return string(value)


def _our_version(value: Any) -> Any:
    if _version(value) > _version(__version__):
        raise Invalid(
            phrase(
                "this blueprint needs Homarus {value}, and this is {version}", value=string(value), version=__version__
            )
        )
    return string(value)


def _version(value: Any) -> tuple[int, ...]:
    match = _VERSION.fullmatch(string(value))
    if match is None:
        raise Invalid(phrase("expected a version such as 2026.1.0, got {value}", value=show(value)))
    return tuple(int(part or 0) for part in match.groups())


_INPUT = Schema(
    {
        Optional("name"): _TEXT,
        Optional("description"): _TEXT,
        Optional("default"): object,
        Optional("selector"): read_selector,
    }
)
_SECTION = Schema(
    {
        Optional("name"): _TEXT,
        Optional("icon"): string,
        Optional("description"): _TEXT,
        Optional("collapsed", default=False): boolean,
        Required("input"): dict,
    }
)
_METADATA = Schema(
    {
        Required("name"): _NAME,
        Required("domain"): _domain,
        Optional("description", default=""): _TEXT,
        Optional("author"): string,
        Optional("icon"): string,
        Optional("source_url"): url,
        Optional("homeassistant"): {Optional("min_version"): _home_assistant_version},
        Optional("homarus"): {Optional("min_version"): _our_version},
        Optional("input", default=dict): dict,
    }
)


def read_metadata(value: Any) -> Metadata:
    """Return the metadata of a blueprint.

    Args:
        value: Plain data of the mapping under `blueprint:`.

    Raises:
        Invalid: With the path below that mapping.
    """
    if not isinstance(value, dict):
        raise Invalid(phrase("expected name, domain and input, got {value}", value=show(value)))
    found = _METADATA({key: each for key, each in value.items() if each is not None})
    return Metadata(
        name=found["name"],
        domain=found["domain"],
        description=found["description"].strip(),
        author=found.get("author"),
        icon=found.get("icon"),
        source_url=found.get("source_url"),
        sections=_sections(found["input"]),
    )


def _sections(inputs: Mapping[str, Any]) -> tuple[InputSection, ...]:
    found: list[InputSection] = []
    loose: list[InputField] = []
    seen: set[str] = set()

    def close_loose() -> None:
        if loose:
            found.append(InputSection(None, "", "", None, False, tuple(loose)))
            loose.clear()

    for key, value in inputs.items():
        if isinstance(value, dict) and "input" in value:
            close_loose()
            found.append(_section(key, value, seen))
            continue
        loose.append(_field(key, value, seen, ("input", key)))
    close_loose()
    if len(seen) > INPUTS_LIMIT:
        raise Invalid(
            phrase("expected at most {limit} inputs, got {count}", limit=INPUTS_LIMIT, count=len(seen)), path=["input"]
        )
    return tuple(found)


def _section(key: str, value: dict[str, Any], seen: set[str]) -> InputSection:
    try:
        section = _SECTION({name: each for name, each in value.items() if each is not None or name == "input"})
    except Invalid as error:
        error.prepend(["input", key])
        raise
    fields = [_field(name, each, seen, ("input", key, "input", name)) for name, each in section["input"].items()]
    return InputSection(
        key,
        section.get("name") or _spelled_out(key),
        section.get("description", "").strip(),
        section.get("icon"),
        section["collapsed"],
        tuple(fields),
    )


def _field(key: str, value: Any, seen: set[str], path: tuple[str, ...]) -> InputField:
    if key in seen:
        raise Invalid(phrase("there are two inputs {key}", key=key), path=list(path))
    seen.add(key)
    try:
        found = _INPUT({} if value is None else value)
    except Invalid as error:
        error.prepend(list(path))
        raise
    selector, options = found.get("selector") or read_selector(None)
    return InputField(
        key=key,
        name=found.get("name") or _spelled_out(key),
        description=found.get("description", "").strip(),
        selector=selector,
        options=options,
        default=found.get("default"),
        required="default" not in found,
    )


def _spelled_out(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _shown_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The choices of a `choose` hold selectors of their own."""
    if "choices" not in options:
        return dict(options)
    choices = {key: {"type": name, **_shown_options(inner)} for key, (name, inner) in options["choices"].items()}
    return {**options, "choices": choices}
