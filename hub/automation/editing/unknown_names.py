"""Warnings about unknown names: services, keys of their data, and events.

What an integration registers while it runs cannot be known from the files: an unknown name is a warning, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hub.automation.blueprints.expanding import expand, store_of
from hub.automation.blueprints.store import BlueprintStore
from hub.automation.definition.commands import NAMES
from hub.automation.definition.values import is_template
from hub.automation.editing.unknown_things import HomeNames, called_service, mappings, provided_names, stored_registries
from hub.automation.engine.own_events import OWN_EVENTS, TRIED_EVENTS
from hub.config.checked import Config
from hub.config.sections import CheckReport, CrossCheck
from hub.config.suggest import did_you_mean, nearest
from hub.core.errors import HubError
from hub.core.phrases import phrase
from hub.core.schema import SchemaError
from hub.core.slugs import object_id
from hub.entities.domains import DOMAINS, GENERIC, TARGET_KEYS
from hub.entities.helpers.schema import helper_ids
from hub.entities.helpers.table import RELOADED
from hub.messaging.places import DEFAULT_ACCOUNT, account_in, chat_or_last
from hub.models.schema import doubts_of

Keys = tuple[str | int, ...]
UnknownName = tuple[Keys, str, str]
Places = frozenset[tuple[str, str]]
"""Channel and account of what something can be sent to."""

WARNINGS_LIMIT = 100

_HUB_SERVICES = {
    name: frozenset(keys.split())
    for name, keys in {
        "agent.heartbeat": "ack_max_chars agent checks model prompt session target timeout",
        "agent.heartbeat_due": "agent skip_unchanged",
        "agent.run": (
            "agent announce area message model name session silent silent_unless spoken thinking timeout tools"
        ),
        "agent.system_event": "agent mode session text",
        "automation.reload": "",
        "automation.toggle": "entity_id",
        "automation.trigger": "entity_id skip_condition variables",
        "automation.turn_off": "entity_id stop_actions",
        "automation.turn_on": "entity_id",
        "backup.create": "",
        "group.remove": "object_id",
        "group.set": "add_entities all entities icon name object_id remove_entities",
        "hub.check": "",
        "hub.reload": "",
        "hub.restart": "",
        "hub.stop": "",
        "logbook.log": "domain entity_id message name",
        "memory.add": "agent kind replaces shared text",
        "memory.flush": "agent session_key",
        "memory.forget": "agent dry_run person query session",
        "memory.get": "agent lines path start",
        "memory.index": "agent force",
        "memory.search": "agent kind limit person query session trusted",
        "memory.tidy": "agent cost_usd dry_run",
        "message.send": "account agent channel message session_key text thread to",
        "mobile_app.notify": "data device_id message title",
        "node.invoke": "command no_wait node params timeout_s",
        "node.notify": "message node title",
        "notify.notify": "data message target text title",
        "notify.send": "data message target text title",
        "persistent_notification.create": "message notification_id title",
        "persistent_notification.dismiss": "notification_id",
        "persistent_notification.dismiss_all": "",
        "scene.apply": "entities transition",
        "scene.create": "entities scene_id snapshot_entities",
        "scene.delete": "entity_id",
        "script.reload": "",
        "script.toggle": "entity_id variables",
        "script.turn_off": "entity_id",
        "script.turn_on": "entity_id variables",
        "tool.invoke": "agent arguments tool",
        "web.fetch": "body headers length method remember url",
    }.items()
}
_HUB_SERVICES |= {f"{domain}.reload": frozenset() for domain in RELOADED}
_ASK_A_MODEL = frozenset({"agent.run", "agent.heartbeat"})
_ENTITY_SERVICES = {
    f"{domain}.{name}": frozenset({*TARGET_KEYS, *map(str, fields)})
    for domain, services in {**DOMAINS, "homeassistant": dict.fromkeys((*GENERIC, "update_entity"), ())}.items()
    for name, fields in services.items()
}
SERVICES: Mapping[str, frozenset[str]] = {**_HUB_SERVICES, **_ENTITY_SERVICES}
"""Services of the hub and the keys of their data; a test compares them with those of a running hub."""

_ADDRESSES = {"message.send": "", "agent.run": "announce", "agent.heartbeat": "target"}
"""Services that send, and the key of their data that says where to; empty where the data says it itself."""

PERSON_KEYS = frozenset({"data", "message", "text", "title"})
"""Keys of the data of `notify.<person>`."""

FOREIGN_EVENTS: Mapping[str, str] = {
    "telegram_text": "message_received",
    "telegram_command": "message_received",
    **dict.fromkeys(("zha_event", "deconz_event", "hue_event", "knx_event", "shelly.click"), ""),
    **dict.fromkeys(("zwave_js_value_notification", "zwave_js_notification", "lutron_caseta_button_event"), ""),
    **dict.fromkeys(("ios.action_fired", "telegram_callback", "imap_content"), ""),
}
"""Events of Home Assistant that nothing here fires, and what is fired instead."""


def check_names(
    folders: Callable[[Config], Iterable[Path]] = lambda _: (),
    domains: Callable[[Config], Iterable[str]] = lambda _: (),
    places: Callable[[Config], Places | None] = lambda _: None,
    is_open: Callable[[Config], bool] = lambda _: False,
    entities: Callable[[Config], Iterable[str]] = lambda _: (),
    further: Callable[[Config], Iterable[tuple[Keys, Any]]] = lambda _: (),
    away: Callable[[Config], Callable[[str], bool]] = lambda _: lambda _: False,
) -> CrossCheck:
    """Return the check that each service, data key, address and event of the automations and scripts is known.

    Args:
        folders: Returns the folders of blueprints that the integrations in use bring.
        domains: Returns the integrations in use; which services they have is not known before they run.
        places: Returns the channels and accounts there are; None where that is not known.
        is_open: Returns whether something in use may show entities that are in no registry.
        entities: Returns those that integrations make of the configuration.
        further: Returns what else has actions and triggers in it, with its keys.
        away: Returns whether what an integration showed once is there no more.
    """

    def check(config: Config, report: CheckReport) -> None:
        scripts: Mapping[str, Any] = config.get("script") or {}
        items: list[tuple[Keys, Any]] = [
            (("automation", index), item) for index, item in enumerate(config.get("automation") or ())
        ]
        items += [(("script", key), item) for key, item in scripts.items()]
        items += further(config)
        if not items:
            return
        used = set(domains(config))
        provided = provided_names(config.home, used)
        known: dict[str, frozenset[str] | None] = {
            **dict.fromkeys(provided.services),
            **SERVICES,
            **dict.fromkeys(f"homeassistant.{name}" for name in GENERIC),
            **{f"{section}.{key}": None for section in ("script", *NAMES) for key in config.get(section) or ()},
            **dict.fromkeys(f"{domain}." for domain in used),
            **{id: PERSON_KEYS for id in helper_ids(config) if id.startswith("notify.")},
            **{f"notify.{object_id(person['id'])}": PERSON_KEYS for person in config.get("people") or ()},
        }
        known.setdefault("notify.owner", PERSON_KEYS)
        store = store_of(config.home, further=lambda: folders(config)) if config.home is not None else None
        made = [_expanded(keys, item, store) for keys, item in items]
        chats = places(config)
        registries = stored_registries(config.home)
        names = (
            HomeNames(config, registries, made=entities(config), away=away(config), is_open=is_open(config))
            if registries is not None
            else None
        )

        @cache
        def fired() -> set[str]:
            return {*provided.events, *(event for item in made for event in _fired(item))}

        doubt = doubts_of(config)
        unknown = (
            _at_its_blueprint(keys, item, each) if "use_blueprint" in item else each
            for (keys, item), whole in zip(items, made, strict=True)
            for mapping, at in mappings(whole, keys)
            for each in chain(
                _unknown(mapping, at, known, fired, chats),
                _no_model(mapping, at, doubt),
                names.unknown(mapping, at) if names is not None else (),
                _without_effect(mapping, at),
            )
        )
        for path, message, hint in islice(unknown, WARNINGS_LIMIT):
            report.warning(path, message, hint)

    return check


def _expanded(keys: Keys, item: Any, store: BlueprintStore | None) -> Any:
    """Return the expanded item; one that does not fit its blueprint unchanged, since another check reports it."""
    if store is None or "use_blueprint" not in item or keys[0] not in ("automation", "script"):
        return item
    try:
        return expand(item, str(keys[0]), store)
    except SchemaError:
        return item


def _at_its_blueprint(keys: Keys, item: Mapping[str, Any], unknown: UnknownName) -> UnknownName:
    """Return a warning at the line of the blueprint's path, which a person can change."""
    _, message, hint = unknown
    return (
        (*keys, "use_blueprint", "path"),
        phrase("from {path}: {message}", path=item["use_blueprint"]["path"], message=message),
        hint,
    )


def _unknown(
    value: Mapping[str, Any],
    keys: Keys,
    known: Mapping[str, frozenset[str] | None],
    fired: Callable[[], set[str]],
    places: Places | None,
) -> Iterator[UnknownName]:
    if (name := called_service(value)) is not None:
        yield from _service(name, value, keys, known)
        if places is not None:
            yield from _nowhere(name, value.get("data"), (*keys, "data"), places)
    elif value.get("trigger") == "event":
        yield from _events(value.get("event_type"), keys, fired)


def _no_model(value: Mapping[str, Any], keys: Keys, doubt: Callable[[str], str | None]) -> Iterator[UnknownName]:
    """Yield a warning for an unknown model named by an action."""
    data = value.get("data")
    if value.get("action") in _ASK_A_MODEL and isinstance(data, dict):
        model = data.get("model")
        if isinstance(model, str) and model and not is_template(model) and (message := doubt(model)) is not None:
            yield (*keys, "data", "model"), message, ""


def _without_effect(value: Mapping[str, Any], keys: Keys) -> Iterator[UnknownName]:
    """Yield a warning for a condition that can never hold, or an option without effect; Home Assistant takes both."""
    for side in ("before", "after") if value.get("condition") == "sun" else ():
        if f"{side}_offset" in value and side not in value:
            yield (*keys, f"{side}_offset"), phrase("{name}_offset does nothing without {name}", name=side), ""
    if value.get("trigger") == "webhook" and value.get("local_only") is False and "secret" not in value:
        told = phrase("this webhook answers this machine alone, since it is open to others without a secret")
        yield (*keys, "local_only"), told, phrase("add secret: !secret NAME, or leave out local_only: false")
    above, below = value.get("above"), value.get("below")
    kind = next((key for key in ("condition", "trigger") if value.get(key) == "numeric_state"), None)
    if kind is None or not isinstance(above, float) or not isinstance(below, float) or above < below:
        return
    told = phrase("nothing is both above {above} and below {below}", above=f"{above:g}", below=f"{below:g}")
    two = (
        phrase("did you mean two conditions with or?") if kind == "condition" else phrase("did you mean two triggers?")
    )
    yield (*keys, "above"), told, two


def _nowhere(service: str, data: Any, keys: Keys, places: Places) -> Iterator[UnknownName]:
    """Yield a warning when a service sends to a channel or an account that does not exist."""
    key = _ADDRESSES.get(service)
    if key is None or not isinstance(data, dict):
        return
    address, keys = (data.get(key), (*keys, key)) if key else (data, keys)
    parts = {"to": address} if isinstance(address, str) else address if isinstance(address, dict) else {}
    given = {each: str(parts[each]) for each in ("channel", "to", "account") if parts.get(each) is not None}
    channel = given.get("channel")
    if given.get("to") == "none" or any(map(is_template, given.values())):
        return
    try:
        chat = chat_or_last(channel, given.get("to"))
        if chat is None:
            return
        channel = chat[0]
        account_in(places, channel, given.get("account", DEFAULT_ACCOUNT))
    except HubError as error:
        wrong = "channel" if "channel" in given else "to"
        if channel in {name for name, _ in places} and "account" in given:
            wrong = "account"
        yield (keys if isinstance(address, str) else (*keys, wrong)), error.message, ""


def _service(
    name: str, step: Mapping[str, Any], keys: Keys, known: Mapping[str, frozenset[str] | None]
) -> Iterator[UnknownName]:
    if name not in known:
        if f"{name.partition('.')[0]}." in known or name.startswith("notify.mobile_app_"):
            return
        hint = _WAYS.get(name.partition(".")[0]) or _similar(name, frozenset(known))
        yield (*keys, "action"), phrase("no service {name} is known", name=name), hint
        return
    takes = known[name]
    if takes is None:
        return
    for place in ("data", "data_template"):
        data = step.get(place)
        for key in data if isinstance(data, dict) else ():
            if key not in takes:
                hint = did_you_mean(key, takes, known=phrase("it takes"))
                yield (*keys, place, key), phrase("the service {name} takes no {key}", name=name, key=key), hint


_WAYS: Mapping[str, str] = {
    "python_script": phrase(
        "Python scripts are not run here: use variables and templates in a script, a program by shell_command, or the "
        "bridge to a Home Assistant that has it."
    ),
    "pyscript": phrase("write it as a script or an automation here, or as a program that shell_command calls"),
    **dict.fromkeys(("shell_command", "rest_command"), phrase("name it below that section of configuration.yaml")),
}


@lru_cache(maxsize=256)
def _similar(name: str, known: frozenset[str]) -> str:
    """Return a hint: the nearest service of that domain, or of one that is spelt nearly so."""
    domain, _, service = name.partition(".")
    meant = nearest(domain, {each.partition(".")[0] for each in known})
    hint = did_you_mean(f"{meant}.{service}", [each for each in known if each.startswith(f"{meant}.")])
    return hint or phrase("An integration may bring it while the hub runs.")


def _events(types: Any, keys: Keys, fired: Callable[[], set[str]]) -> Iterator[UnknownName]:
    own = OWN_EVENTS | TRIED_EVENTS
    for index, type in enumerate(types if isinstance(types, list) else ()):
        if type in own or is_template(type):
            continue
        path = (*keys, "event_type", index) if len(types) > 1 else (*keys, "event_type")
        if type in FOREIGN_EVENTS and type not in fired():
            instead = FOREIGN_EVENTS[type]
            yield path, phrase("nothing here fires the event {type}", type=type), _meant(instead)
        elif (near := _misspelt(type)) is not None and type not in fired():
            yield path, phrase("nothing here is known to fire the event {type}", type=type), _meant(near)


def _meant(word: str) -> str:
    return phrase("did you mean {word}?", word=word) if word else ""


def _misspelt(type: str) -> str | None:
    """Return the hub event whose name is nearly spelt like a type."""
    alike = [each for each in OWN_EVENTS | TRIED_EVENTS if each[0] == type[:1] and abs(len(each) - len(type)) <= 1]
    return next(iter(get_close_matches(type, alike, n=1, cutoff=0.9)), None)


def _fired(value: Any) -> Iterator[str]:
    """Yield the events that steps of an item fire."""
    if isinstance(value, list):
        for each in value:
            yield from _fired(each)
    elif isinstance(value, dict):
        if isinstance(value.get("event"), str):
            yield value["event"]
        for each in value.values():
            if isinstance(each, (dict, list)):
                yield from _fired(each)
