"""A draft of an automation: its YAML text with posted form fields merged in, so that both views agree."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from hub.config.edit import parse_value
from hub.config.item_changes import with_changes
from hub.config.paths import KeyPath
from hub.core.errors import InvalidRequest, NotFound
from web.automations.card_moves import moved
from web.automations.form import Form, form_of, path_of
from web.automations.form_kinds import ACTION, COMMON, LISTS, fresh, kind_names, own_keys
from web.automations.kind_tiles import item_of
from web.core.form_fields import MISSING, Control, meant

Fields = Mapping[str, Sequence[str]]
"""What was posted: the texts of each field."""

SEQUENCE_LIMIT = 200
"""Cards of one list; more are written as YAML."""


class AutomationDraft(Struct):
    """Merge posted form fields into the text the form was made from.

    Attributes:
        text: The automation as YAML, with the posted changes.
        item: Its data.
        shown: Texts of fields that mean nothing, by name; they are shown again.
        errors: Why they mean nothing, by name.
        focus: The path of the card to show next.
        opened: The path of a card that is shown open: one just added or of another kind.
    """

    text: str
    item: dict[str, Any]
    shown: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    focus: str | None = None
    opened: str | None = None


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


def posted(text: str, fields: Fields) -> AutomationDraft:
    """Return the draft of a posted form and its text.

    Raises:
        InvalidRequest: The text is not YAML, or is written in a way that only a person should change (EditRefused).
    """
    old = read_item(text)
    new = copy.deepcopy(old)
    draft = AutomationDraft(text, new)
    form = form_of(old)
    changed = _change_kinds(new, form, fields)
    draft.opened = next(iter(changed), None)
    for control in form.controls():
        if any(control.name == path or control.name.startswith(f"{path}.") for path in changed):
            continue
        _take(draft, control, fields)
    draft.text = with_changes(text, old, new)
    return draft


def perform(draft: AutomationDraft, command: str) -> AutomationDraft:
    """Return the draft after a button of a card or a tile was pressed.

    Args:
        command: `add:PATH:WHAT:TILE` (see `kind_tiles`), `option:PATH`, `remove:PATH`, `copy:PATH`, `up:PATH`,
            `down:PATH` or `switch:PATH`.

    Raises:
        InvalidRequest: There is no such button, or nothing at the path.
    """
    what, _, name = command.partition(":")
    name, _, tile = name.partition(":")
    keys = path_of(name)
    if not keys:
        return draft
    item = copy.deepcopy(draft.item)
    if what in ("up", "down"):
        by = -1 if what == "up" else 1
        text = moved(draft.text, keys, by)
        last = keys[-1]
        return _again(draft, text, _name((*keys[:-1], int(last) + by)) if isinstance(last, int) else name)
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


def _take(draft: AutomationDraft, control: Control, fields: Fields) -> None:
    values = fields.get(control.name)
    if values is None:
        return
    joins = {"choices": "\n", "entity": ", ", "service": ", "}.get(control.kind)
    text = values[-1] if joins is None else joins.join(value for value in values if value)
    text = text.replace("\r\n", "\n")
    if text.rstrip("\n") == control.shown.rstrip("\n"):
        return
    try:
        value = meant(control, text)
    except InvalidRequest as error:
        draft.shown[control.name], draft.errors[control.name] = text, error.message
        return
    _put(draft.item, path_of(control.name), value)


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
    if isinstance(item, Mapping):
        keep = {*COMMON[what], *own_keys(what, kind)["properties"]} - ({kind} if what == ACTION else set())
        found |= {key: each for key, each in item.items() if key in keep and key not in found}
    return found


# --- buttons ---


def _add(item: dict[str, Any], keys: KeyPath, tile: str) -> KeyPath:
    what, _, key = tile.partition(":")
    found = item_of(what, key) if what in LISTS else None
    if found is None:
        raise InvalidRequest("choose what to add")
    return _append(item, keys, found)


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
