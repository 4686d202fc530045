"""An automation as a form: nested cards with fields, built from its plain data and the grammar.

Every field and card is named by the path of its value, so that a posted form can be put back in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.config.paths import Key, KeyPath
from web.automations.card_fields import card_control
from web.automations.form_kinds import (
    ACTION,
    AUTOMATION_SHAPE,
    COMMON,
    CONDITION,
    FIELD,
    NESTED,
    OPTION,
    RARE,
    Nested,
    Shape,
    below_keys,
    common_schema,
    kind_names,
    kind_of,
    own_keys,
)
from web.automations.script_field_cards import field_controls
from web.automations.service_data import TARGETS, AnyControl, DataFields, ServiceFields
from web.core.form_fields import MISSING, Control, control_of, field_id

OLD_KEYS = frozenset({"data_template", "event_data_template", "entity_id"})
"""Keys of actions that newer ones replace; shown where they are in use."""
HIDDEN_SETTINGS = frozenset({"id", "made_by"})
DEPTH_LIMIT = 12
"""Cards nested deeper are YAML."""

_IDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_RARE_TARGETS = frozenset({"floor_id", "label_id"})

Errors = Mapping[str, str]
"""Messages by the name of a field or the path of a card."""


class CardList(Struct):
    """Cards in order, which may be added to."""

    path: str
    what: str
    title: str
    cards: list[Card] = field(default_factory=list)
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The list as templates and JSON see it."""
        return {
            "path": self.path,
            "id": field_id(self.path),
            "what": self.what,
            "title": self.title,
            "kinds": list(kind_names(self.what)),
            "cards": [card.as_dict() for card in self.cards],
            "error": self.error,
        }


class Card(Struct):
    """A trigger, a condition, a step, an option of `choose`, or a field of a script.

    Attributes:
        kind: None when the form cannot show it: then it is YAML.
        off: Whether it is disabled.
        more: Rarely used fields.
        movable: Whether it is an item of a list.
        said: Its action in words; empty when it is not complete.
        opened: Whether its fields are shown; those of a card with an error always are.
        as_yaml: Whether it is shown as YAML although it has a form.
    """

    path: str
    what: str
    kind: str | None
    alias: str = ""
    off: bool = False
    fields: list[AnyControl] = field(default_factory=list)
    more: list[AnyControl] = field(default_factory=list)
    lists: list[CardList] = field(default_factory=list)
    options: list[Card] | None = None
    first: bool = False
    last: bool = False
    movable: bool = True
    error: str | None = None
    said: str = ""
    icon: str = ""
    opened: bool = False
    as_yaml: bool = False

    @property
    def wrong(self) -> bool:
        """Whether it or one of its fields has an error."""
        return bool(self.error or any(each.error for each in (*self.fields, *self.more)))

    def as_dict(self) -> dict[str, Any]:
        """The card as templates and JSON see it."""
        return {
            "path": self.path,
            "id": field_id(self.path),
            "what": self.what,
            "kind": self.kind,
            "kinds": list(kind_names(self.what)),
            "alias": self.alias,
            "off": self.off,
            "fields": [each.as_dict() for each in self.fields],
            "more": [each.as_dict() for each in self.more],
            "lists": [each.as_dict() for each in self.lists],
            "options": None if self.options is None else [each.as_dict() for each in self.options],
            "first": self.first,
            "last": self.last,
            "movable": self.movable,
            "error": self.error,
            "said": self.said,
            "icon": self.icon,
            "inside": sum(len(each.cards) for each in self.lists) + len(self.options or ()),
            "wrong": self.wrong,
            "opened": self.opened or self.wrong,
            "as_yaml": self.as_yaml,
        }


class Form(Struct):
    """The whole form."""

    fields: list[AnyControl]
    more: list[AnyControl]
    lists: list[CardList]
    blueprint: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The form as templates and JSON see it."""
        return {
            "fields": [each.as_dict() for each in self.fields],
            "more": [each.as_dict() for each in self.more],
            "lists": [each.as_dict() for each in self.lists],
            "blueprint": self.blueprint,
        }

    def controls(self) -> Iterator[AnyControl]:
        """Yield every field."""
        yield from (*self.fields, *self.more)
        for card in self.cards():
            yield from (*card.fields, *card.more)

    def cards(self) -> Iterator[Card]:
        """Yield every card, outer ones first."""
        for each in self.lists:
            yield from _cards_of(each.cards)


def form_of(
    item: Mapping[str, Any],
    services: ServiceFields | None = None,
    as_yaml: Collection[str] = (),
    shape: Shape = AUTOMATION_SHAPE,
) -> Form:
    """Return the form of an automation or a script as written.

    Args:
        item: Its plain data; tags such as `!secret` are `Tagged`.
        services: Makes the fields for the data of services; without it, the data is YAML.
        as_yaml: Paths of cards that are shown as YAML.
        shape: Which of the two it is.
    """
    known = shape.settings()

    def setting(key: str) -> Control:
        return card_control(("", ""), key, key, known[key], item.get(key, MISSING), required=False)

    first: list[AnyControl] = [setting(key) for key in shape.first]
    more: list[AnyControl] = [setting(key) for key in known if key not in shape.first and key not in HIDDEN_SETTINGS]
    blueprint = item.get("use_blueprint")
    if blueprint is not None:
        inputs = blueprint.get("input", MISSING) if isinstance(blueprint, Mapping) else MISSING
        first.append(control_of("use_blueprint.input", "input", {"description": "Values for its inputs."}, inputs))
        path = blueprint.get("path") if isinstance(blueprint, Mapping) else None
        return Form(first, more, [], str(path))
    cards = _Cards(services, as_yaml)
    keys = {what: _top_key(item, names) for what, names in shape.lists.items()}
    lists = [cards.list_of(key, what, item.get(key), 0, shape.titles.get(what, "")) for what, key in keys.items()]
    return Form(first, more, lists)


def with_errors(form: Form, errors: Errors) -> list[str]:
    """Put each message at the field, card or list that it is about; return those that belong to none."""
    left: list[str] = []
    for name, message in errors.items():
        if not _place_error(form, name, message):
            left.append(f"{name}: {message}" if name else message)
    return left


def replace_texts(form: Form, shown: Mapping[str, str]) -> None:
    """Show other texts in fields: invalid input as typed."""

    def changed(controls: list[AnyControl]) -> None:
        for index, each in enumerate(controls):
            if each.name in shown:
                text = shown[each.name]
                controls[index] = replace(each, shown=text if isinstance(each, Control) else (text,))

    changed(form.fields)
    changed(form.more)
    for card in form.cards():
        changed(card.fields)
        changed(card.more)


# --- building ---


def _top_key(item: Mapping[str, Any], keys: tuple[str, str]) -> str:
    today, old = keys
    return old if old in item and today not in item else today


class _Cards:
    """Builds cards from data."""

    def __init__(self, services: ServiceFields | None, as_yaml: Collection[str]) -> None:
        self._services = services
        self._as_yaml = as_yaml

    def list_of(self, path: str, what: str, value: Any, depth: int, title: str = "") -> CardList:
        found = CardList(path, what, title or path.rpartition(".")[2])
        if value is None or value is MISSING:
            return found
        if what == FIELD and isinstance(value, Mapping):
            found.cards = [self._card(f"{path}.{key}", what, each, depth, movable=False) for key, each in value.items()]
            return found
        if not isinstance(value, list):
            found.cards.append(self._card(path, what, value, depth, movable=False))
            return found
        found.cards = [self._card(f"{path}.{index}", what, each, depth) for index, each in enumerate(value)]
        if found.cards:
            found.cards[0].first = found.cards[-1].last = True
        return found

    def _card(self, path: str, what: str, item: Any, depth: int, *, movable: bool = True) -> Card:
        kind = kind_of(what, item) if depth <= DEPTH_LIMIT else None
        card = Card(path, what, kind, movable=movable)
        card.as_yaml = kind is not None and path in self._as_yaml
        if kind is None or card.as_yaml:
            card.fields.append(control_of(path, "yaml", {}, item))
            return card
        if what == FIELD:
            first, more = field_controls(path, kind, item)
            card.fields, card.more = [*first], [*more]
            card.alias = str((item or {}).get("name") or path.rpartition(".")[2])
            return card
        if isinstance(item, str):
            card.fields.append(control_of(path, "value_template", {"type": "string"}, item, required=True))
            return card
        card.alias = str(item.get("alias") or "")
        card.off = item.get("enabled", True) is False
        shown_as, name = (CONDITION, _step_condition(item)) if what == ACTION and kind == "condition" else (what, kind)
        if name is None:
            card.fields.append(control_of(path, "yaml", {}, item))
            card.kind = None
            return card
        if shown_as != what and "condition" in item:
            choice = {"enum": list(kind_names(CONDITION))}
            card.fields.append(control_of(f"{path}.condition", "condition", choice, item["condition"], required=True))
        self._own_fields(card, shown_as, name, item)
        card.more += [
            control_of(f"{path}.{key}", key, common_schema(key), item.get(key, MISSING))
            for key in COMMON[what]
            if not (key == "id" and name == "trigger" and shown_as == CONDITION)
        ]
        self._nest(card, shown_as, name, item, depth)
        return card

    def _own_fields(self, card: Card, what: str, kind: str, item: Mapping[str, Any]) -> None:
        path, where = card.path, (what, kind)
        found = own_keys(what, kind)
        data = self._data_of(path, item) if where == (ACTION, "action") else None
        controls: list[AnyControl] = []
        for key, schema in found["properties"].items():
            written = "service" if key == "action" and "service" in item and key not in item else key
            value = item.get(written, MISSING)
            if what == ACTION and value is MISSING and (key in OLD_KEYS or (key == "target" and "entity_id" in item)):
                continue
            if where == (ACTION, "device_id") and value is MISSING and not schema.keys() & {"type", "anyOf"}:
                continue  # what it takes depends on the device
            if key == "target" and (value is MISSING or isinstance(value, Mapping)):
                if data is None or data.targeted or value is not MISSING:
                    first, more = _target(f"{path}.target", value, data.domain if data is not None else "")
                    controls += first
                    card.more += more
                continue
            if key == "data" and data is not None:
                controls += data.first
                card.more += data.more
                continue
            required = key in found["required"]
            control = card_control(where, f"{path}.{written}", written, schema, value, required=required)
            rare = value is MISSING and not required and key in RARE.get(kind, RARE[""])
            rare = rare or (key == "action" and data is not None)  # the fields below are those of this service
            (card.more if rare else controls).append(control)
        inner = item.get(kind)
        if isinstance(inner, Mapping):
            for key, schema in below_keys(kind).items():
                value = inner.get(key, MISSING)
                controls.append(card_control(where, f"{path}.{kind}.{key}", key, schema, value, required=False))
        known = {control.key for control in (*controls, *card.more)}
        known |= {nested.keys[0] for nested in NESTED.get(where, ())} | {*COMMON[what], *COMMON[ACTION], what, kind}
        known |= {"target"} if any(control.name.startswith(f"{path}.target") for control in controls) else set()
        known |= {"platform", "condition", "and", "or", "not"} | ({"data"} if data is not None else set())
        for key in item:
            if key not in known and key != "metadata":
                controls.append(control_of(f"{path}.{key}", key, {}, item[key]))
        card.fields += controls

    def _data_of(self, path: str, item: Mapping[str, Any]) -> DataFields | None:
        name = item.get("action", item.get("service"))
        if self._services is None or not isinstance(name, str):
            return None
        return self._services.of(name, f"{path}.data.", item.get("data", MISSING))

    def _nest(self, card: Card, what: str, kind: str, item: Mapping[str, Any], depth: int) -> None:
        for nested in NESTED.get((what, kind), ()):
            keys = nested.keys
            if what == CONDITION and keys == ("conditions",) and "condition" not in item and kind in item:
                keys = (kind,)
            found = self._nested_list(card.path, Nested(keys, nested.what), item, depth)
            card.lists.append(found)
            if what == CONDITION:
                found.title = kind
        if kind == "choose" and what == ACTION:
            options = item.get("choose")
            single = isinstance(options, Mapping)
            all_options = [options] if single else options if isinstance(options, list) else []
            card.options = [
                self._option(
                    f"{card.path}.choose" if single else f"{card.path}.choose.{index}", each, depth, movable=not single
                )
                for index, each in enumerate(all_options)
            ]
            if card.options:
                card.options[0].first = card.options[-1].last = True

    def _nested_list(self, path: str, nested: Nested, item: Mapping[str, Any], depth: int) -> CardList:
        value: Any = item
        for key in nested.keys:
            value = value.get(key, MISSING) if isinstance(value, Mapping) else MISSING
        return self.list_of(".".join((path, *nested.keys)), nested.what, value, depth + 1, nested.keys[-1])

    def _option(self, path: str, item: Any, depth: int, *, movable: bool) -> Card:
        card = Card(path, "option", "option", movable=movable)
        card.as_yaml = path in self._as_yaml
        if not isinstance(item, Mapping) or card.as_yaml:
            card.kind = card.kind if card.as_yaml else None
            card.fields.append(control_of(path, "yaml", {}, item))
            return card
        card.alias = str(item.get("alias") or "")
        card.fields.append(control_of(f"{path}.alias", "alias", common_schema("alias"), item.get("alias", MISSING)))
        card.lists = [self._nested_list(path, nested, item, depth) for nested in OPTION]
        return card


def _target(path: str, value: Any, domain: str) -> tuple[list[AnyControl], list[AnyControl]]:
    """Return the fields of what a service is about: entities, then areas and devices."""
    given = value if isinstance(value, Mapping) else {}
    first: list[AnyControl] = []
    more: list[AnyControl] = []
    for key in TARGETS:
        written = given.get(key, MISSING)
        if key in _RARE_TARGETS and written is MISSING:
            continue
        control = card_control((ACTION, "action"), f"{path}.{key}", key, _IDS, written, required=False)
        (first if key == "entity_id" or written is not MISSING else more).append(
            replace(control, domain=domain) if key == "entity_id" else control
        )
    first += [control_of(f"{path}.{key}", key, {}, each) for key, each in given.items() if key not in TARGETS]
    return first, more


def _step_condition(item: Mapping[str, Any]) -> str | None:
    plain = {key: each for key, each in item.items() if key != "continue_on_error"}
    return kind_of(CONDITION, plain)


# --- errors ---


def _place_error(form: Form, name: str, message: str) -> bool:
    groups = (form.fields, form.more, *(each for card in form.cards() for each in (card.fields, card.more)))
    for exact in (True, False):
        for controls in groups:
            for index, control in enumerate(controls):
                if name == control.name if exact else name.startswith(f"{control.name}."):
                    controls[index] = replace(control, error=_joined(control.error, message))
                    return True
    holders: dict[str, Card | CardList] = {each.path: each for each in _lists_of(form.lists)}
    holders |= {card.path: card for card in form.cards()}
    parts = name.split(".")
    while parts:
        holder = holders.get(".".join(parts))
        if holder is not None:
            holder.error = _joined(holder.error, message)
            return True
        parts.pop()
    return False


def _lists_of(lists: Sequence[CardList]) -> Iterator[CardList]:
    for each in lists:
        yield each
        for card in each.cards:
            yield from _lists_of(card.lists)
            for option in card.options or ():
                yield from _lists_of(option.lists)


def _cards_of(cards: Sequence[Card]) -> Iterator[Card]:
    for card in cards:
        yield card
        for each in card.lists:
            yield from _cards_of(each.cards)
        yield from _cards_of(card.options or ())


def _joined(one: str | None, other: str) -> str:
    return f"{one}; {other}" if one else other


def path_of(name: str) -> KeyPath:
    """Return the keys of a field's name."""
    return tuple(_key(part) for part in name.split(".")) if name else ()


def _key(part: str) -> Key:
    return int(part) if part.isdigit() else part
