"""The grammar of automations and scripts: their keys, the renaming of old keys, defaults.

The words are those of Home Assistant 2026; errors name the key as written in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import Mode
from hub.automation.definition.fields import (
    conditions,
    duration,
    enabled,
    literal_text,
    sequence,
    triggers,
    variables,
)
from hub.automation.definition.kinds import Kinds
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    Described,
    DescribedLater,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    number,
    secret,
    show,
    string,
    url,
)
from hub.core.secret import Secret

MAX_DEFAULT = 10
PAUSE_AFTER_DEFAULT = 5
STORED_TRACES = 5
DAY_S = 86_400.0
_ID = re.compile(r"^[^\s/:][^\n/]{0,127}$")
_WORDS_OF_MAX = ("silent", "debug", "info", "warning", "error", "critical")
_OLD: Mapping[str, str] = {"trigger": "triggers", "condition": "conditions", "action": "actions"}


def _id(value: Any) -> str:
    text: str = string(value)
    if not _ID.match(text):
        raise Invalid(phrase("expected an id (text without / at most 128 characters), got {value}", value=show(value)))
    return text


def _input(value: Any) -> Any:
    """Accept any plain data; a secret becomes its text."""
    if isinstance(value, Secret):
        raise Invalid(phrase("expected text"))
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        try:
            _input(each)
        except Invalid as error:
            error.prepend([key])
            raise
    return value


def _blueprint_path(value: Any) -> str:
    text: str = string(value)
    if not text.endswith((".yaml", ".yml")) or text.startswith("/") or ".." in text.split("/"):
        raise Invalid(
            phrase("expected the path of a blueprint such as homarus/heartbeat.yaml, got {value}", value=show(value))
        )
    return text


CATCH_UP = In(("none", "last", "all"))
_CATCH_UP_KEYS = Schema(
    {
        Required("mode", description="none, last or all of the missed runs."): CATCH_UP,
        Optional("within", description="How long ago a missed run may have been due; nothing: however long."): AnyOf(
            None, duration
        ),
    }
)


def _catch_up(value: Any) -> dict[str, Any]:
    stated: dict[str, Any] = _CATCH_UP_KEYS(value) if isinstance(value, dict) else {"mode": CATCH_UP(value)}
    # The last one is worth doing however late; all of them only as far back as a day, unless it is said.
    return {"within": DAY_S if stated["mode"] == "all" else None, **stated}


def _on_error(value: Any) -> Any:
    if value in ("stop", "continue"):
        return value
    if isinstance(value, (dict, list)):
        return sequence(value)
    raise Invalid(phrase("expected stop, continue or a list of actions, got {value}", value=show(value)))


_COUNT = All(integer, Range(min=1, max=1_000))
_MODE_KEYS: Mapping[Any, Any] = {
    Optional("mode", default="single", description="What to do when triggered while running."): In(
        [each.value for each in Mode]
    ),
    Optional(
        "max", default=MAX_DEFAULT, description="Maximum number that run or wait, in the modes queued and parallel."
    ): _COUNT,
    Optional("max_exceeded", default="warning", description="Log level for triggers beyond `max`."): All(
        string, str.lower, In(_WORDS_OF_MAX)
    ),
    Optional("variables", default=dict, description="Variables of each run; templates see `trigger`."): variables,
    Optional("trace", default=dict, description="How many traces are kept, of each outcome."): Schema(
        {Optional("stored_traces", default=STORED_TRACES, description="How many."): All(integer, Range(min=0, max=100))}
    ),
    Optional("timeout", description="A run that takes longer is ended."): All(duration, Range(min=0.001)),
    Optional("on_error", default="stop", description="stop, continue, or actions that see `error`."): Described(
        _on_error, {"anyOf": [{"enum": ["stop", "continue"]}, {"type": "array"}]}, "on_error"
    ),
    Optional("retry", description="Retry a failed run."): Schema(
        {
            Required("attempts", description="How often it is tried in all."): All(integer, Range(min=1, max=20)),
            Optional("delay", default=10, description="Before the second."): duration,
            Optional("backoff", default=2, description="Each further delay is so many times longer."): All(
                number, Range(min=1, max=10)
            ),
        }
    ),
    Optional("persist", description="Whether a run survives a restart of the hub."): boolean,
}

_KEYS: Mapping[Any, Any] = {
    Optional("id", description="Permanent; traces and the dashboard refer to it by this."): _id,
    Optional("alias", description="Name shown in lists and traces."): All(string, Length(max=200)),
    Optional("description", default="", description="Description shown in lists."): AnyOf(string, None),
    **_MODE_KEYS,
    Optional("trigger_variables", default=dict, description="Variables that triggers may use."): variables,
    Optional("initial_state", description="Whether it is on after each start, regardless of before."): boolean,
    Optional("enabled", default=True, description="Whether it is loaded at all."): enabled,
    Optional("triggers", description="What sets it off."): triggers,
    Optional("trigger", description="The old name of `triggers`."): triggers,
    Optional("conditions", description="Conditions that must be met."): conditions,
    Optional("condition", description="The old name of `conditions`."): conditions,
    Optional("actions", description="What it does."): sequence,
    Optional("action", description="The old name of `actions`."): sequence,
    Optional("catch_up", description="What to do with runs that were missed while the hub was down."): Described(
        _catch_up, {"anyOf": [to_json_schema(CATCH_UP), to_json_schema(_CATCH_UP_KEYS)]}, "catch_up"
    ),
    Optional("rate_limit", description="How often it may run."): Schema(
        {Required("runs", description="How many runs."): _COUNT, Required("per", description="In how long."): duration}
    ),
    Optional("budget", description="What its runs may cost."): Schema(
        {
            Optional("cost_usd", description="Dollars."): All(number, Range(min=0)),
            Optional("tokens", description="Tokens, in and out."): All(integer, Range(min=0)),
            Optional("per", default=DAY_S, description="In how long."): duration,
        }
    ),
    Optional("approval", default="none", description="required: the owner is asked before each run."): In(
        ("none", "required")
    ),
    Optional("delete_after_run", default=False, description="Whether it is deleted after its run."): boolean,
    Optional(
        "pause_after", default=PAUSE_AFTER_DEFAULT, description="Pause after this many failures in a row; 0: never."
    ): All(integer, Range(min=0, max=1_000)),
    Optional("made_by", description="Who created it, when it was not a person: agent:main."): All(
        string, Match(r"^[a-z]+:[a-z0-9_-]{1,64}$", msg="expected who wrote it, such as agent:main")
    ),
    Optional("templates", default=True, description="Whether texts in it may be templates."): boolean,
    Optional("notify", description="Where the signed result of each run is posted."): Schema(
        {
            Required("url", description="Gets a POST with JSON."): url,
            Optional("secret", description="Signs the body (HMAC-SHA256)."): secret,
            Optional("token", description="Sent as `Authorization: Bearer`."): secret,
            Optional("on", default="all", description="Which results: all, failed or finished."): In(
                ("all", "failed", "finished")
            ),
        }
    ),
}
_AUTOMATION = Schema(dict(_KEYS))

_OF_ITS_OWN = {"triggers", "trigger", "conditions", "condition", "actions", "action"}


def _overriding(keys: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return keys without their defaults, which would override those of the blueprint."""
    return {
        Optional(str(key), description=key.description): check
        for key, check in keys.items()
        if str(key) not in _OF_ITS_OWN
    }


USE_BLUEPRINT: Mapping[Any, Any] = {
    Required("use_blueprint", description="The blueprint it is made from."): Schema(
        {
            Required("path", description="File below the folder of its domain in blueprints."): _blueprint_path,
            Optional("input", default=dict, description="Values for the blueprint's inputs."): AnyOf(
                {string: Described(_input, {}, "value")}, None
            ),
        }
    ),
}
_BLUEPRINT = Schema(
    {
        **_overriding(_KEYS),
        **USE_BLUEPRINT,
    }
)

_FIELD = Schema(
    {
        Optional("name", description="Name shown in lists and traces."): string,
        Optional("description", description="For people, and for agents that may call it."): string,
        Optional("required", default=False, description="Whether a call must give it."): boolean,
        Optional("advanced", default=False, description="Whether forms show it last."): boolean,
        Optional("default", description="What it is when a call does not give it."): object,
        Optional("example", description="Shown in forms."): object,
        Optional("selector", description="How forms ask for it."): AnyOf({string: object}, None),
    }
)
_SCRIPT_KEYS: Mapping[Any, Any] = {
    Optional("alias", description="Name shown in lists and traces."): All(string, Length(max=200)),
    Optional("description", default="", description="For people, and for agents that may call it."): AnyOf(
        string, None
    ),
    Optional("icon", description="Shown in the dashboard."): string,
    **_MODE_KEYS,
    Optional("fields", default=dict, description="Its arguments."): {
        All(string, Match(r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$", msg="expected a name of letters, digits and _")): AnyOf(
            None, _FIELD
        )
    },
    Optional("expose", default=False, description="Whether an agent may call it."): boolean,
}
_SCRIPT = Schema({**_SCRIPT_KEYS, Required("sequence", description="What it does."): sequence})
_SCRIPT_BLUEPRINT = Schema(
    {
        **_overriding(_SCRIPT_KEYS),
        **USE_BLUEPRINT,
    }
)


def automation(value: Any) -> dict[str, Any]:
    """Validate one automation and return it with present keys and defaults; its kinds are those of `kinds_in_use`.

    An item that uses a blueprint is validated as far as it is written here: `use_blueprint` and what it overrides.

    Raises:
        Invalid: With the path of the key as written in the file.
    """
    if not isinstance(value, dict):
        raise Invalid(phrase("expected an automation (triggers and actions), got {value}", value=show(value)))
    if "use_blueprint" in value:
        for key in ("triggers", "trigger", "conditions", "condition", "actions", "action"):
            if key in value:
                raise Invalid(
                    phrase("{key} come from the blueprint; use it without them, or without use_blueprint", key=key),
                    path=[key],
                )
        found: dict[str, Any] = _BLUEPRINT(value)
        return {
            key: each for key, each in found.items() if key in value
        }  # the blueprint's own words come before defaults
    for old, new in _OLD.items():
        if old in value and new in value:
            raise Invalid(phrase("{old} is the old name of {new}; use only one of them", old=old, new=new), path=[old])
    is_literal = _is_literal(value)
    with literal_text(is_literal):
        found = _AUTOMATION(value)
    found["templates"] = not is_literal
    for old, new in _OLD.items():
        if old in found:
            found[new] = found.pop(old)
    if "actions" not in found:
        raise Invalid(phrase("an automation needs actions"), path=["actions"])
    found.setdefault("triggers", [])
    found.setdefault("conditions", [])
    return found


def _is_literal(value: Mapping[str, Any]) -> bool:
    try:
        return not boolean(value.get("templates", True)) or str(value.get("made_by", "")).startswith("agent:")
    except Invalid:
        return False


def script(value: Any) -> dict[str, Any]:
    """Validate one script; see `automation`."""
    if not isinstance(value, dict):
        raise Invalid(phrase("expected a script (a mapping with sequence), got {value}", value=show(value)))
    if "use_blueprint" in value:
        return {key: each for key, each in _SCRIPT_BLUEPRINT(value).items() if key in value}
    found: dict[str, Any] = _SCRIPT(value)
    return found


def settings_json() -> dict[str, Any]:
    """Return the JSON Schema of an automation's own keys, without its triggers, conditions and actions."""
    return to_json_schema({key: check for key, check in _KEYS.items() if str(key) not in _OF_ITS_OWN})


def script_settings_json() -> dict[str, Any]:
    """Return the JSON Schema of a script's own keys, without its fields and its sequence."""
    return to_json_schema({key: check for key, check in _SCRIPT_KEYS.items() if str(key) != "fields"})


def script_field_json() -> dict[str, Any]:
    """Return the JSON Schemas of the keys of a script's field."""
    found: dict[str, Any] = to_json_schema(_FIELD)["properties"]
    return found


def _automation_json() -> dict[str, Any]:
    found = dict(to_json_schema(_AUTOMATION))
    found["properties"] = {
        **{key: value for key, value in found["properties"].items() if key not in _OLD},
        "use_blueprint": to_json_schema(_BLUEPRINT)["properties"]["use_blueprint"],
    }
    return found


def _script_json() -> dict[str, Any]:
    found = dict(to_json_schema(_SCRIPT))
    found.pop("required", None)
    found["properties"]["use_blueprint"] = to_json_schema(_SCRIPT_BLUEPRINT)["properties"]["use_blueprint"]
    return found


def automation_field(kinds: Kinds) -> DescribedLater:
    """Return the validator of an automation that may use these kinds."""
    return DescribedLater(kinds.in_use()(automation), kinds.in_use()(_automation_json), "automation", "object")


def script_field(kinds: Kinds) -> DescribedLater:
    """Return the validator of a script that may use these kinds."""
    return DescribedLater(kinds.in_use()(script), kinds.in_use()(_script_json), "script", "object")
