"""Configuration of template entities: `template:`, a list of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from typing import Any

from hub.automation.blueprints.expanding import expand, store_of
from hub.automation.blueprints.filling import USE
from hub.automation.definition.fields import conditions, duration, sequence, template, triggers, variables
from hub.automation.definition.grammar import USE_BLUEPRINT
from hub.automation.definition.values import checked_template, is_template
from hub.config.explain import keys_of
from hub.config.paths import KeyPath
from hub.config.sections import CheckReport
from hub.core.errors import HubError
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Described,
    DescribedLater,
    Invalid,
    Length,
    MultipleInvalid,
    Optional,
    Required,
    Schema,
    SchemaError,
    as_list,
    each_error,
    entity_id,
    show,
    string,
)
from hub.core.slugs import slugify
from integrations.devices.template.contract import TemplateKind
from integrations.devices.template.sensors import DELAYS
from integrations.devices.template.table import KINDS, TRIGGERED

DOMAIN = "template"
EACH_ITEM = True
BLOCKS_LIMIT = 2_000
ENTITIES_LIMIT = 2_000
"""In one block."""
_OLD = {"trigger": "triggers", "condition": "conditions", "action": "actions"}


def _lasting(value: Any) -> Any:
    """Accept a duration, or a template of one."""
    return checked_template(value) if is_template(value) else duration(value)


_ACTIONS = Described(sequence, {"type": ["array", "object"]}, "actions")
"""Their whole grammar would stand sixty times in the schema of the editor."""
_LASTING = Described(_lasting, duration.json_schema, "duration or template")
_COMMON: Mapping[Any, Any] = {
    Optional("name", description="Its name; may be a template."): template,
    Optional("unique_id", description="Tells it from all others, so that its name may change."): string,
    Optional("default_entity_id", description="Its entity id when it is first seen."): entity_id,
    Optional("icon", description="Its icon; may be a template."): template,
    Optional("picture", description="The address of its picture; may be a template."): template,
    Optional("availability", description="Whether it is available."): template,
    Optional("attributes", description="Further attributes, each a template."): {string: template},
    Optional("variables", description="Variables of its templates and actions, rendered once."): variables,
}


def entity_schema(kind: TemplateKind) -> Schema:
    """Return the schema of one entity of a kind."""
    keys: dict[Any, Any] = dict(_COMMON)
    for key, each in kind.templates.items():
        marker = Required if each.required else Optional
        keys[marker(key, description=f"Its {key.replace('_', ' ')}.")] = _LASTING if key in DELAYS else template
    for key, required in kind.actions.items():
        marker = Required if required else Optional
        keys[marker(key, description=f"Actions of {key}.")] = _ACTIONS
    return Schema({**keys, **kind.fields})


def _entity(kind: TemplateKind) -> Any:
    fields = entity_schema(kind)

    def check(value: Any) -> Any:
        if kind.legacy == kind.domain and isinstance(value, dict):  # its old keys are those of a block too
            value = {kind.renamed.get(key, key): each for key, each in value.items()}
        settings = kind.rule(fields(value))
        given = settings.get("default_entity_id")
        if given is not None and given.partition(".")[0] != kind.domain:
            raise Invalid(phrase("expected an entity id of {domain}", domain=kind.domain), path=["default_entity_id"])
        return settings

    return DescribedLater(check, lambda: to_json_schema(fields), f"template_{kind.domain}", "object")


_FIELDS = Schema(
    {
        Optional("unique_id", description="Goes before the unique ids of its entities."): string,
        Optional(
            "triggers", description="When its entities are worked out again; without, when what they read changes."
        ): triggers,
        Optional("conditions", description="Must hold then."): conditions,
        Optional(
            "actions", description="What is done before; its variables and responses are seen by the templates."
        ): sequence,
        Optional("variables", description="Variables of its templates."): variables,
        **{
            Optional(domain, description=kind.description): All(as_list, [_entity(kind)], Length(max=ENTITIES_LIMIT))
            for domain, kind in KINDS.items()
        },
    }
)


_OF_BLUEPRINT = Schema(
    {
        **USE_BLUEPRINT,
        Optional("name", description="The name of the entity."): template,
        Optional("unique_id", description="Tells the entity from all others."): string,
        Optional("variables", description="Variables beside those of the blueprint."): variables,
    }
)


def _block(value: Any) -> Any:
    """Check a block; the old names of keys become today's."""
    if not isinstance(value, dict):
        return _FIELDS(value)
    if USE in value:
        return _OF_BLUEPRINT(value)
    for old, new in _OLD.items():
        if old in value and new in value:
            raise Invalid(phrase("{old} is the old name of {new}; use only one of them", old=old, new=new), path=[old])
    try:
        block = _FIELDS({_OLD.get(key, key): each for key, each in value.items()})
    except Invalid as error:
        raise _named_as_written(error, {new: old for old, new in _OLD.items() if old in value}) from None
    if not KINDS.keys() & block.keys():
        raise Invalid(phrase("expected one of {keys}", keys=list(KINDS)))
    if "triggers" in block:
        for domain in KINDS.keys() & block.keys() - TRIGGERED:
            raise Invalid(
                phrase("triggers can set {kinds}; this one is not among them", kinds=sorted(TRIGGERED)), path=[domain]
            )
    for key in ("conditions", "actions"):
        if key in block and "triggers" not in block:
            raise Invalid(phrase("{key} need triggers", key=key), path=[key if key in value else key[:-1]])
    return block


def _made(value: dict[str, Any]) -> dict[str, Any]:
    """Check what a blueprint was filled in to; its name, unique id and variables are those of its one entity."""
    kinds = [domain for domain in KINDS if domain in value]
    if len(kinds) != 1 or not isinstance(value[kinds[0]], dict):
        raise Invalid(phrase("expected one of {keys}", keys=list(KINDS)))
    domain, kept = kinds[0], ["name", "unique_id"]
    if not {"trigger", "triggers"} & value.keys():
        kept.append("variables")
    entity = {**value[domain], **{key: value[key] for key in kept if key in value}}
    made: dict[str, Any] = _block({**{key: each for key, each in value.items() if key not in kept}, domain: entity})
    return made


def _named_as_written(error: Invalid, old: Mapping[str, str]) -> Invalid:
    """Return an error whose paths have the keys as the file has them.

    Args:
        old: What is written for a key of today.
    """
    for each in each_error(error):
        if each.path and each.path[0] in old:
            each.path[0] = old[str(each.path[0])]
    return error


def _block_schema() -> dict[str, Any]:
    return {"anyOf": [to_json_schema(_FIELDS), to_json_schema(_OF_BLUEPRINT)]}


CONFIG_SCHEMA = All(
    as_list,
    Schema([DescribedLater(_block, _block_schema, "template", "object")]),
    Length(max=BLOCKS_LIMIT),
)


# --- the older form: `sensor: - platform: template` ---

_OLD_KEYS = {
    "friendly_name": "name",
    "icon_template": "icon",
    "entity_picture_template": "picture",
    "availability_template": "availability",
    "attribute_templates": "attributes",
}
_NOT_NEEDED = ("entity_id", "scan_interval", "entity_namespace")
"""Keys of old files that had to say what a template reads; it is known here."""


def _older(kind: TemplateKind) -> Schema:
    """Return the schema of an item of a section of entities; it is made of those of today, as `entities`."""
    entity = _entity(kind)

    def one(value: Any, key: str | None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid(phrase("expected keys with values, got {value}", value=show(value)))
        new = {**_OLD_KEYS, **kind.renamed}
        today = {new.get(each, each): said for each, said in value.items() if each not in _NOT_NEEDED}
        if key is not None:
            today = {"name": key, "default_entity_id": f"{kind.domain}.{key}", **today}
        try:
            found: dict[str, Any] = entity(today)
        except Invalid as error:
            old = {today: each for each, today in new.items() if today not in value}
            raise _named_as_written(error, {**old, **{new[each]: each for each in new if each in value}}) from None
        return found

    def named(value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, dict):
            raise Invalid(phrase("expected names and what each is, got {value}", value=show(value)))
        found: list[dict[str, Any]] = []
        errors: list[Any] = []
        for key, each in value.items():
            try:
                found.append(one(each, str(key)))
            except Invalid as error:
                error.prepend([key])
                errors += each_error(error)
        if errors:
            raise MultipleInvalid(errors)
        return found

    if kind.legacy == kind.domain:
        return Schema(All(dict, lambda value: {"entities": [one(value, None)]}))
    keys: dict[Any, Any] = {Required(kind.legacy): named, **{Optional(each): object for each in _NOT_NEEDED}}
    return Schema(All(keys, lambda value: {"entities": value[kind.legacy]}))


PLATFORMS = {domain: _older(kind) for domain, kind in KINDS.items() if kind.legacy}


# --- what checks know of it ---


def written(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """Yield the blocks of a checked configuration, those of the older form too, each with the place of its item."""
    for section in (DOMAIN, *PLATFORMS):
        broken = getattr(config, "broken_items", {}).get(section, {})
        items = config.get(section) or ()
        places = (place for place in count() if place not in broken)
        for place, item in zip(places, items, strict=False):
            if section == DOMAIN and USE in item:
                with suppress(SchemaError, HubError):  # its check has told
                    yield (section, place), {**item, **_expanded(config, item)}
            elif section == DOMAIN:
                yield (section, place), item
            elif item["platform"] == DOMAIN:
                yield (section, place), {section: item["entities"]}


def _expanded(config: Any, item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block that a blueprint makes.

    Raises:
        Invalid: It cannot be made.
    """
    return expand(item, DOMAIN, store_of(config.home), _made) if getattr(config, "home", None) is not None else {}


def _blueprints_fit(config: Any, report: CheckReport) -> None:
    """Report blocks whose blueprint cannot be filled in."""
    for place, item in enumerate(config.get(DOMAIN) or ()):
        if USE in item:
            try:
                _expanded(config, item)
            except SchemaError as error:
                for each in each_error(error):
                    report.error((DOMAIN, place, *keys_of(each)), each.msg)


CROSS_CHECKS = {"blueprints": _blueprints_fit}
ITEMS = written
"""What is checked as automations are, for the names in it."""


def ENTITIES(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entity ids that a checked configuration has, as far as no templates of names make them."""
    seen: set[str] = set()
    for _, block in written(config):
        for domain in KINDS.keys() & block.keys():
            for settings in block[domain]:
                yield numbered(f"{domain}.{object_id(KINDS[domain], settings)}", seen)


def numbered(id: str, seen: set[str]) -> str:
    """Return an id that none of those seen has, with a number where it is needed."""
    found = next(each for each in chain((id,), (f"{id}_{number}" for number in count(2))) if each not in seen)
    seen.add(found)
    return found


def object_id(kind: TemplateKind, settings: Mapping[str, Any], name: str | None = None) -> str:
    """Return the second part of the entity id that one is given when it is first seen.

    Args:
        name: Its name, where a template makes it.
    """
    if "default_entity_id" in settings:
        return str(settings["default_entity_id"].partition(".")[2])
    return slugify(name or settings.get("name") or kind.name) or "unnamed_device"
