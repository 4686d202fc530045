"""A draft of an automation or a script: its YAML text with posted form fields merged in, so that both views agree."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.config.edit import parse_value
from hub.config.item_changes import with_changes
from hub.config.paths import KeyPath
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from web.automations.card_fields import card_value, is_unchanged, posted_text
from web.automations.card_moves import move_item
from web.automations.form import Form, form_of, path_of
from web.automations.form_kinds import (
    ACTION,
    AUTOMATION_SHAPE,
    COMMON,
    FIELD,
    LISTS,
    Shape,
    fresh,
    kind_names,
    own_keys,
)
from web.automations.kind_tiles import item_of
from web.automations.script_field_cards import KEY, NAME
from web.automations.selector_fields import InputControl, is_same, parse_texts
from web.automations.service_data import AnyControl, ServiceFields
from web.core.form_fields import MISSING

Fields = Mapping[str, Sequence[str]]
"""What was posted: the texts of each field."""

SEQUENCE_LIMIT = 200
"""Cards of one list; more are written as YAML."""

ALREADY = phrase("there is another field with this ID")
NOT_A_NAME = phrase("letters, digits and _ only, and no digit first")
_EMPTIED = ("data", "target")
"""Keys that are taken out with the last that stands below them."""


class AutomationDraft(Struct):
    """Merge posted form fields into the text the form was made from.

    Attributes:
        text: The automation as YAML, with the posted changes.
        item: Its data.
        shown: The texts of invalid fields, by name; they are shown again.
        errors: Why they are invalid, by name.
        focus: The path of the card to show next.
        opened: The path of a card whose fields are shown: one just added or of another kind.
        as_yaml: The paths of cards that are shown as YAML.
    """

    text: str
    item: dict[str, Any]
    shown: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    focus: str | None = None
    opened: str | None = None
    as_yaml: frozenset[str] = frozenset()


def read_item(text: str) -> dict[str, Any]:
    """Return the data of an automation's text.

    Raises:
        InvalidRequest: It is not YAML, or not a mapping.
    """
    item = parse_value(text) if text.strip() else {}
    if item is None:
        return {}
    if not isinstance(item, dict):
        raise InvalidRequest("an automation is a mapping: keys such as alias, triggers and actions")
    return item


def read_draft(
    text: str, fields: Fields, services: ServiceFields | None = None, shape: Shape = AUTOMATION_SHAPE
) -> AutomationDraft:
    """Return the draft of a posted form and its text.

    Args:
        services: Makes the fields for the data of services, as the form had them.
        shape: Whether it is an automation or a script.

    Raises:
        InvalidRequest: The text is not YAML, or is written in a way that only a person should change (EditRefused).
    """
    old = read_item(text)
    new = copy.deepcopy(old)
    draft = AutomationDraft(text, new, as_yaml=frozenset(fields.get("as_yaml", ())))
    form = form_of(old, services, draft.as_yaml, shape)
    changed = _change_kinds(new, form, fields)
    draft.opened = next(iter(changed), None)
    for control in form.controls():
        if any(control.name == path or control.name.startswith((f"{path}.", path + KEY)) for path in changed):
            continue
        if control.name.endswith(KEY):
            continue
        _take(draft, control, fields)
    _rename_fields(draft, form, fields)
    draft.text = with_changes(text, old, new)
    return draft


def perform(draft: AutomationDraft, command: str) -> AutomationDraft:
    """Return the draft after a button of a card or a tile was pressed.

    Args:
        command: `add:PATH:WHAT:TILE` (see `kind_tiles`), `option:PATH`, `remove:PATH`, `copy:PATH`, `up:PATH`,
            `down:PATH`, `move:PATH:PLACE`, `switch:PATH`, or `as_yaml:PATH` and `as_form:PATH`, after which alone
            cards stay YAML: all others may change their paths.

    Raises:
        InvalidRequest: There is no such button, or nothing at the path.
    """
    what, _, name = command.partition(":")
    name, _, tile = name.partition(":")
    keys = path_of(name)
    if not keys:
        return draft
    item = copy.deepcopy(draft.item)
    if what in ("as_yaml", "as_form"):
        shown = draft.as_yaml | {name} if what == "as_yaml" else draft.as_yaml - {name}
        return replace(draft, as_yaml=shown, focus=name, opened=name)
    if what in ("up", "down"):
        by = -1 if what == "up" else 1
        text = move_item(draft.text, keys, by)
        last = keys[-1]
        return _again(draft, text, _name((*keys[:-1], int(last) + by)) if isinstance(last, int) else name)
    if what == "move":
        return _move(draft, keys, tile)
    if what == "add":
        focus = _add(item, keys, tile)
    elif what in _PERFORM:
        focus = _PERFORM[what](item, keys)
    else:
        raise InvalidRequest(f"the form has no button {command[:80]!r}")
    found = _again(draft, with_changes(draft.text, draft.item, item), _name(focus))
    found.opened = found.focus if what in ("add", "option", "copy") else None
    return found


def _again(draft: AutomationDraft, text: str, focus: str) -> AutomationDraft:
    return AutomationDraft(text, read_item(text), {}, dict(draft.errors), focus)


# --- what was typed ---


def _take(draft: AutomationDraft, control: AnyControl, fields: Fields) -> None:
    text: str
    try:
        if isinstance(control, InputControl):
            texts = fields.get(control.name)
            if texts is None or is_same(control, texts):
                return
            text, value = texts[-1] if texts else "", parse_texts(control, texts)
        else:
            posted = posted_text(control, fields)
            if posted is None or is_unchanged(control, posted):
                return
            text, value = posted, MISSING
            value = card_value(control, text, _old(draft.item, control.name))
    except InvalidRequest as error:
        draft.shown[control.name], draft.errors[control.name] = text, error.message
        return
    keys = path_of(control.name)
    _put(draft.item, keys, value)
    if value is MISSING and len(keys) > 1 and keys[-2] in _EMPTIED and _old(draft.item, _name(keys[:-1])) == {}:
        _put(draft.item, keys[:-1], MISSING)


def _old(item: Any, path: str) -> Any:
    try:
        return item_at(item, path)
    except NotFound:
        return MISSING


def _change_kinds(item: dict[str, Any], form: Form, fields: Fields) -> set[str]:
    """Change the kinds of cards where requested; return their paths."""
    changed: set[str] = set()
    for card in form.cards():
        wanted = (fields.get(f"{card.path}:kind") or [""])[-1]
        if card.kind in (None, wanted) or wanted not in kind_names(card.what):
            continue
        if any(card.path.startswith(f"{path}.") for path in changed):
            continue
        keys = path_of(card.path)
        _put(item, keys, _as_kind(card.what, wanted, _at(item, keys)))
        changed.add(card.path)
    return changed


def _as_kind(what: str, kind: str, item: Any) -> dict[str, Any]:
    found = fresh(what, kind)
    if what == FIELD:
        return {**(item or {}), **found}
    if isinstance(item, Mapping):
        keep = {*COMMON[what], *own_keys(what, kind)["properties"]} - ({kind} if what == ACTION else set())
        found |= {key: each for key, each in item.items() if key in keep and key not in found}
    return found


def _rename_fields(draft: AutomationDraft, form: Form, fields: Fields) -> None:
    """Give fields of a script other keys, in their places."""
    for card in form.cards():
        name, key = card.path + KEY, card.path.rpartition(".")[2]
        wanted = (fields.get(name) or [key])[-1].strip()
        holder = draft.item.get("fields")
        if card.what != FIELD or wanted == key or not isinstance(holder, dict):
            continue
        if not NAME.fullmatch(wanted) or wanted in holder:
            draft.shown[name] = wanted
            draft.errors[name] = ALREADY if wanted in holder else NOT_A_NAME
            continue
        draft.item["fields"] = {wanted if each == key else each: value for each, value in holder.items()}
        if draft.opened in (None, card.path):
            draft.opened = draft.focus = f"{card.path.rpartition('.')[0]}.{wanted}"


# --- buttons ---


def _add(item: dict[str, Any], keys: KeyPath, tile: str) -> KeyPath:
    what, _, key = tile.partition(":")
    if what == FIELD and key in kind_names(FIELD):
        return _add_field(item, keys, key)
    found = item_of(what, key) if what in LISTS else None
    if found is None:
        raise InvalidRequest("choose what to add")
    return _append(item, keys, found)


def _add_field(item: dict[str, Any], keys: KeyPath, kind: str) -> KeyPath:
    taken, name, count = item.get(str(keys[-1])) or {}, kind, 1
    while name in taken:
        count += 1
        name = f"{kind}_{count}"
    _put(item, (*keys, name), fresh(FIELD, kind))
    return (*keys, name)


def _move(draft: AutomationDraft, keys: KeyPath, place: str) -> AutomationDraft:
    """Move a card to a place in its list, one neighbour after the other, with the comments of each."""
    at = keys[-1]
    if not isinstance(at, int) or not place.isdigit() or int(place) > SEQUENCE_LIMIT:
        raise InvalidRequest("this cannot be moved there")
    text, step = draft.text, 1 if int(place) > at else -1
    for index in range(at, int(place), step):
        text = move_item(text, (*keys[:-1], index), step)
    return _again(draft, text, _name((*keys[:-1], int(place))))


def _option(item: dict[str, Any], keys: KeyPath) -> KeyPath:
    return _append(item, (*keys, "choose"), {"conditions": None, "sequence": None})


def _remove(item: dict[str, Any], keys: KeyPath) -> KeyPath:
    holder = _at(item, keys[:-1])
    if isinstance(holder, list):
        _at(item, keys)
        del holder[int(keys[-1])]
    else:
        _put(item, keys, MISSING)
    return keys[:-1] if len(keys) > 1 else keys


def _copy(item: dict[str, Any], keys: KeyPath) -> KeyPath:
    holder, last = _at(item, keys[:-1]), keys[-1]
    twin = copy.deepcopy(_at(item, keys))
    if isinstance(twin, dict):
        twin.pop("id", None)
    if not isinstance(holder, list) or not isinstance(last, int):
        return _append(item, keys, twin)
    if len(holder) >= SEQUENCE_LIMIT:
        raise InvalidRequest(f"a list of the form holds at most {SEQUENCE_LIMIT} cards; continue in YAML")
    holder.insert(last + 1, twin)
    return (*keys[:-1], last + 1)


def _switch(item: dict[str, Any], keys: KeyPath) -> KeyPath:
    card = _at(item, keys)
    if isinstance(card, str):
        card = {"condition": "template", "value_template": card}
        _put(item, keys, card)
    if not isinstance(card, dict):
        raise InvalidRequest("this can be switched off in YAML only")
    if card.get("enabled", True) is False:
        card.pop("enabled")
    else:
        card["enabled"] = False
    return keys


_PERFORM = {"option": _option, "remove": _remove, "copy": _copy, "switch": _switch}


def _append(item: dict[str, Any], keys: KeyPath, value: Any) -> KeyPath:
    try:
        found = _at(item, keys)
    except NotFound:
        found = None
    if isinstance(found, list):
        if len(found) >= SEQUENCE_LIMIT:
            raise InvalidRequest(f"a list of the form holds at most {SEQUENCE_LIMIT} cards; continue in YAML")
        found.append(value)
        return (*keys, len(found) - 1)
    made = [value] if found is None else [found, value]
    _put(item, keys, made)
    return (*keys, len(made) - 1)


# --- places ---


def item_at(item: Any, path: str) -> Any:
    """Return the item at the path of a card.

    Raises:
        NotFound: Nothing does.
    """
    return _at(item, path_of(path))


def _at(item: Any, keys: KeyPath) -> Any:
    for key in keys:
        try:
            item = item[key]
        except (KeyError, IndexError, TypeError) as error:
            raise NotFound(f"there is nothing at {_name(keys)}; load the page again") from error
    return item


def _put(item: Any, keys: KeyPath, value: Any) -> None:
    """Set a value, or remove the key for MISSING; missing parents are created."""
    for key in keys[:-1]:
        if isinstance(item, dict) and item.get(key) is None:
            item[key] = {}
        item = _at(item, (key,))
    last = keys[-1]
    if value is not MISSING:
        item[last] = value
    elif isinstance(item, dict):
        item.pop(last, None)
    elif isinstance(item, list):
        item[int(last)] = ""


def _name(keys: KeyPath) -> str:
    return ".".join(str(key) for key in keys)
