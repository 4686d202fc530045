"""The editor of an automation or a script: a form and YAML over one text; an error loses nothing that was typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.automation.definition.kinds import Kinds
from hub.config.errors import ConfigInvalid
from hub.config.item_changes import with_changes
from hub.config.spans import as_written
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.schema import All, Length, Optional, Required, Schema, SchemaError, string
from hub.core.surfaces import HttpCall
from web.automations.card_fields import PICKS, STATES, parse_pairs, states_of
from web.automations.card_states import Badge, CardStates
from web.automations.card_words import say
from web.automations.draft import AutomationDraft, Fields, item_at, perform, read_draft, read_item
from web.automations.draft_changes import count_changes
from web.automations.edit_subjects import Subject
from web.automations.form import Form, form_of, replace_texts, with_errors
from web.automations.form_kinds import ACTION, CONDITION, FIELD, LISTS
from web.automations.form_texts import (
    CHOICE_TEXTS,
    CHOICES_OF_KEYS,
    FIELD_LABELS,
    KIND_NAMES,
    SCRIPT_FIELD_LABELS,
    SERVICE_FIELD_LABELS,
)
from web.automations.item_problems import Problem, by_name, problems_in_file, problems_of_card
from web.automations.kind_tiles import TILE_GROUPS, tile_groups
from web.automations.list_page import AutomationsPage
from web.automations.service_data import ServiceFields
from web.automations.trace_view import pretty
from web.core.form import read_fields, read_lists
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import CARD_LISTS, OUTCOMES

TEXT_LIMIT = 262_144
DESCRIBE_LIMIT = 1_000
ALIAS_LIMIT = 100
FORM, YAML = "form", "yaml"
AUTOMATION = "automation"
NEW = {AUTOMATION: "New automation", "script": "New script"}
CHECK = Schema({Required("text"): All(string, Length(max=TEXT_LIMIT)), Optional("what"): string})


class _EditorState(Struct, frozen=True):
    """The content of the editor.

    Attributes:
        id: The id of the automation or script; empty for a new one.
        base: Hash of the text that the draft was made from.
        mode: form or yaml.
        new_id: The id that a new script shall have.
    """

    id: str
    draft: AutomationDraft
    base: str
    mode: str
    new_id: str = ""


class _Told(Struct, frozen=True):
    """Messages about the draft.

    Attributes:
        problems: Problems of the text; None when it is not checked yet.
        changed: Whether the draft differs from the file.
        adding: The list to which something is added, and what there is.
        tried: What came of trying a card, or the question whether to run it.
        drafted: Who made the draft of a sentence.
    """

    problems: Sequence[Problem] | None = None
    notice: str | None = None
    conflict: str | None = None
    status: int = 200
    changed: bool = True
    adding: Mapping[str, Any] | None = None
    tried: Mapping[str, Any] | None = None
    drafted: str | None = None


class EditPage:
    """The editor.

    Args:
        list_page: Names entities in sentences, and shows a sentence of which nothing was made.
        subject: What is edited.
        kinds: The kinds of triggers, conditions and actions that there are.
        client: Asks which services there are.
        picked: Returns what is picked as pickers show it, by the kind of the picker and its value.
        services: Makes the fields for the data of services.
        states: Tells how cards stand.
    """

    def __init__(
        self,
        renderer: Renderer,
        list_page: AutomationsPage,
        subject: Subject,
        kinds: Kinds,
        client: MethodClient,
        picked: Callable[[str, str], Mapping[str, str]],
        services: ServiceFields,
        states: CardStates,
    ) -> None:
        self._renderer = renderer
        self._list_page = list_page
        self._subject = subject
        self._kinds = kinds
        self._client = client
        self._picked = picked
        self._services = services
        self._states = states

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations/{id}/edit[?as=yaml]` and `GET /scripts/edit?id=KEY[&as=yaml]`."""
        id = self._subject.find(call)
        text, base = await self._subject.read(id)
        state = _EditorState(id, AutomationDraft(text, {}), base, _mode(call.request.query))
        with self._kinds.in_use():
            return await self._page(call, state, _Told(changed=False))

    async def new(self, call: HttpCall) -> web.StreamResponse:
        """`GET /automations/new[?as=yaml]` and `GET /scripts/new[?as=yaml]`: the editor for a new one."""
        mode = _mode(call.request.query)
        state = _EditorState("", AutomationDraft(self._subject.starter if mode == YAML else "", {}), "", mode)
        with self._kinds.in_use():
            return await self._page(call, state, _Told(problems=(), changed=False))

    async def describe(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/describe`: the editor with what a model made of a sentence; nothing is saved."""
        text = read_fields(call, CHECK)["text"].strip()
        try:
            drafted = await self._client.ask(call, "automation.draft", {"text": text[:DESCRIBE_LIMIT]})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._list_page.show_described(call, text, error.message, error.http_status)
        state = _EditorState("", AutomationDraft(drafted["yaml"], {}), "", FORM)
        with self._kinds.in_use():
            by = "" if drafted["without_model"] else str(drafted["model"])
            return await self._page(call, state, _Told(drafted=by))

    async def check(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/check` and `POST /scripts/check`: the errors of a text; nothing is written.

        With `what` it is the text of one card: a trigger, condition, action or option, or anything else in YAML.
        """
        asked = read_fields(call, CHECK)
        text, words = _plain(asked["text"]), self._words(call)
        with self._kinds.in_use():
            if "what" in asked:
                found = await asyncio.to_thread(problems_of_card, text, asked["what"])
            else:
                found = await self._problems(text)
            return json_response({"problems": [each.as_dict(words) for each in found]})

    async def edit(self, call: HttpCall) -> web.StreamResponse:
        """`POST /automations/edit` and `POST /scripts/edit`: handle a card's button, the other view, or Save."""
        with self._kinds.in_use():
            return await self._edit(call)

    # --- inside ---

    async def _edit(self, call: HttpCall) -> web.StreamResponse:
        fields = read_lists(call)
        id, command, mode = _one(fields, "id"), _one(fields, "do"), _mode({"as": _one(fields, "as")})
        text, base = _plain(_one(fields, "text")), _one(fields, "base_hash")
        if len(text) > TEXT_LIMIT:
            raise InvalidRequest(f"the {self._subject.kind} is longer than {TEXT_LIMIT // 1024} KiB")
        state = _EditorState(id, AutomationDraft(text, {}), base, mode, _one(fields, "new_id").strip())
        try:
            if mode == FORM:
                state = replace(state, draft=read_draft(text, fields, self._services, self._subject.shape))
            draft = state.draft
            if command == "save":
                return await self._save(call, state)
            if command in (FORM, YAML):
                if command == FORM:
                    read_item(draft.text)
                begun = command == FORM or draft.text.strip()
                shown = draft if begun else AutomationDraft(self._subject.starter, {})
                return await self._page(call, replace(state, draft=shown, mode=command), _Told())
            if command == "state":
                return await self._state(call, state)
            if command.startswith(("test:", "run:")):
                return await self._try(call, state, command)
            if command.startswith("tiles:"):
                told = _Told(problems=(), adding=await self._tiles(call, command))
                return await self._page(call, state, told)
            if mode == FORM and command and not draft.errors:
                state = replace(state, draft=perform(draft, command))
        except HubError as error:
            told = _Told(notice=error.message, status=400)
            return await self._page(call, replace(state, draft=AutomationDraft(text, {})), told)
        return await self._page(call, state, _Told(problems=()))

    async def _try(self, call: HttpCall, state: _EditorState, command: str) -> web.StreamResponse:
        """Handle `test:PATH` and `run:PATH`: try one card; an action is run only once that was confirmed."""
        do, _, path = command.partition(":")
        draft = replace(state.draft, opened=path, focus=path)
        cards = self._form(draft, draft.item).cards()
        card = next((each for each in cards if each.path == path), None)
        if card is None or card.what not in LISTS or draft.errors:
            raise NotFound(f"there is nothing at {path[:80]}; load the page again")
        what = CONDITION if card.kind == "condition" else card.what
        tried: dict[str, Any] = dict.fromkeys(("failure", "told", "holds", "outcome", "error"))
        tried |= {"path": path, "what": what, "ask": what == ACTION and do != "run"}
        if not tried["ask"]:
            try:
                written = as_written(item_at(draft.item, path))
                tried |= await self._client.ask(call, "automation.try", {what: written})
            except HubError as error:
                tried["failure"] = error.message
        tried["told"] = pretty(tried["told"]) if tried.get("told") else None
        tried["why"] = self._list_page.said(tried.get("reason") or "", self._renderer.preferences(call).language)
        return await self._page(call, replace(state, draft=draft), _Told(problems=(), tried=tried))

    async def _state(self, call: HttpCall, state: _EditorState) -> web.StreamResponse:
        """Return, as JSON, the draft with what was typed: its text, its changes, and how its cards stand."""
        try:
            item = read_item(state.draft.text) if state.mode == YAML else state.draft.item
        except InvalidRequest:  # while one types it is often none
            return json_response({"text": state.draft.text, "changes": await self._changes(state), "cards": {}})
        form = self._form(state.draft, item)
        language = self._renderer.preferences(call).language
        say(form, item, lambda text: self._list_page.said(text, language), None)
        badges = await self._badges(form, item, state.id, language)
        cards = {each.path: {"said": each.alias or each.said, "badge": badges.get(each.path)} for each in form.cards()}
        return json_response({"text": state.draft.text, "changes": await self._changes(state), "cards": cards})

    async def _badges(self, form: Form, item: Mapping[str, Any], id: str, language: str) -> dict[str, Any]:
        id = id if self._subject.kind == AUTOMATION else ""
        found = await self._states.of(form, item, read_item(await self._written(id)), id)
        words = catalogue(language)
        said = {card.path: card.said for card in form.cards()}

        def shown(path: str, badge: Badge) -> dict[str, str]:
            why = self._list_page.said(badge["why"], language) if badge["why"] else ""
            text = words.gettext(badge["text"])
            return {"tone": badge["tone"], "text": text, "why": "" if why == said[path] else why}

        return {path: shown(path, badge) for path, badge in found.items()}

    async def _written(self, id: str) -> str:
        """Return the text of one as it is in its file; nothing for a new one, and for one that is gone."""
        try:
            return (await self._subject.read(id))[0] if id else ""
        except HubError:
            return ""

    async def _changes(self, state: _EditorState) -> int:
        """Return how many changes are not saved; a text that is not YAML is one."""
        saved = await self._written(state.id)
        try:
            changes = count_changes(read_item(saved), read_item(state.draft.text), self._subject.shape)
            changes += len(state.draft.errors)
        except InvalidRequest:
            return 1
        return changes or int(bool(state.id) and state.draft.text != saved)  # one that is only a comment counts too

    async def _save(self, call: HttpCall, state: _EditorState) -> web.StreamResponse:
        text = self._named(call, state)
        problems = await self._problems(text)
        if problems or state.draft.errors:
            return await self._page(call, state, _Told(problems, status=400))
        try:
            id = await self._subject.save(state.id or None, text, state.base or None, state.new_id)
        except Conflict as conflict:
            if not state.id:
                return await self._page(call, state, _Told(problems, notice=conflict.message, status=409))
            found = (await self._subject.read(state.id))[1]
            told = _Told(problems, conflict=conflict.message, status=409)
            return await self._page(call, replace(state, base=found), told)
        except ConfigInvalid as error:
            return await self._page(call, state, _Told(problems_in_file(error.errors, text), status=400))
        except HubError as error:
            return await self._page(call, state, _Told(problems, notice=error.message, status=400))
        path = self._subject.editor(id, f"as={state.mode}&saved=1")
        if wants_json(call.request):
            text, base = await self._subject.read(id)
            return json_response({"id": id, "hash": base, "text": text, "path": path})
        return see_other(path)

    def _named(self, call: HttpCall, state: _EditorState) -> str:
        """Return the text; a new one that has no name is called by what it does."""
        text = state.draft.text
        try:
            item = read_item(text)
            if state.id or not item or str(item.get("alias") or "").strip() or "use_blueprint" in item:
                return text
            said = self._list_page.said(self._subject.in_words(item), self._renderer.preferences(call).language)
            return with_changes(text, item, {**item, "alias": said[:ALIAS_LIMIT].rstrip()})
        except (HubError, SchemaError):  # the check that follows says what is wrong
            return text

    async def _page(self, call: HttpCall, state: _EditorState, told: _Told) -> web.Response:
        id, draft, mode, notice = state.id, state.draft, state.mode, told.notice
        problems = await self._problems(draft.text) if told.problems is None else told.problems
        words = self._words(call)
        form, badges = None, {}
        others = [each.as_dict(words) for each in problems if mode == YAML]
        if mode == FORM:
            try:
                item = read_item(draft.text)
                shown = self._form(draft, item)
            except InvalidRequest as error:
                mode, notice = YAML, notice or error.message
                others = [each.as_dict(words) for each in problems]
            else:
                replace_texts(shown, draft.shown)
                errors = {name: words.gettext(message) for name, message in draft.errors.items()}
                left = with_errors(shown, {**by_name(problems, words), **errors})
                others = [{"line": None, "message": each} for each in left]
                language = self._renderer.preferences(call).language
                say(shown, item, lambda text: self._list_page.said(text, language), draft.opened)
                badges = await self._badges(shown, item, id, language)
                form = shown.as_dict()
                controls = {each["name"]: each for each in _controls(form)}
                for control in controls.values():
                    self._dress(control, words, controls)
        saved = await self._written(id)
        name = str(read_item(saved).get("alias") or id) if saved else ""
        data: dict[str, Any] = {
            "kind": self._subject.kind,
            "called": name,
            "list_path": self._subject.path,
            "place": self._subject.place(id) if saved else self._subject.path,
            "reload": self._subject.editor(id, f"as={mode}"),
            "id": id,
            "new_id": state.new_id,
            "as": mode,
            "text": draft.text,
            "hash": state.base,
            "form": form,
            "adding": told.adding,
            "tried": told.tried,
            "drafted": told.drafted,
            "badges": badges,
            "changes": await self._changes(state),
            "outcomes": OUTCOMES,
            "focus": draft.focus,
            "problems": others,
            "wrong": bool(problems or draft.errors),
            "notice": notice,
            "conflict": told.conflict,
            "changed": told.changed,
            "saved": "saved" in call.request.query,
            "list_titles": CARD_LISTS,
            "field_labels": {**SERVICE_FIELD_LABELS, **FIELD_LABELS, **SCRIPT_FIELD_LABELS},
            "kind_names": KIND_NAMES,
        }
        title = name or NEW[self._subject.kind]
        page = RenderedPage("automation_edit", title, data, self._subject.path, told.status)
        return await self._renderer.respond(call, page)

    def _form(self, draft: AutomationDraft, item: Mapping[str, Any]) -> Form:
        return form_of(item, self._services, draft.as_yaml, self._subject.shape)

    async def _problems(self, text: str) -> list[Problem]:
        return await asyncio.to_thread(self._subject.problems, text)

    async def _tiles(self, call: HttpCall, command: str) -> Mapping[str, Any]:
        """Return what can be added to a list, for `tiles:PATH:WHAT`."""
        path, _, what = command.removeprefix("tiles:").partition(":")
        if what not in (*LISTS, FIELD):
            raise InvalidRequest("choose what to add")
        groups = tile_groups(what, await self._all_services(call))
        return {"path": path, "what": what, "groups": {TILE_GROUPS[name]: tiles for name, tiles in groups.items()}}

    async def _all_services(self, call: HttpCall) -> dict[str, Any]:
        found = await self._client.ask(call, "service.list")
        return {each["service"]: each for each in found["services"]}

    def _dress(self, control: dict[str, Any], words: Catalogue, others: Mapping[str, Mapping[str, Any]]) -> None:
        """Add what only this home knows: the names of what can be and is picked, and the states an entity may have."""
        key = control["key"]
        control["options"] = [
            (each, words.gettext(CHOICES_OF_KEYS.get((key, each), CHOICE_TEXTS.get(each, each))))
            for each in control["choices"]
        ]
        control["default"] = words.gettext(CHOICE_TEXTS.get(control["default"], control["default"]))
        kind = control["pick"] = PICKS.get(key, "")
        values = [each.strip() for each in control["shown"].split(",") if each.strip()]
        plain = kind and not any(character in control["shown"] for character in "{[")
        picked = [self._picked(kind, each) for each in values] if plain else None
        control["picked"] = picked and [{**each, "text": words.gettext(each["text"])} for each in picked]
        if plain and not values:
            control["picked"] = []
        control["pairs"] = parse_pairs(control["shown"]) if control["kind"] == "pairs" else {}
        control["suggestions"] = []
        if key in STATES:
            entity = others.get(f"{control['name'].rpartition('.')[0]}.entity_id", {}).get("shown", "")
            control["suggestions"] = [
                (each, words.gettext(CHOICE_TEXTS.get(each, each))) for each in states_of(str(entity))
            ]

    def _words(self, call: HttpCall) -> Catalogue:
        return catalogue(self._renderer.preferences(call).language)


def _controls(form: Any) -> Iterator[dict[str, Any]]:
    """Yield every field of a form as templates see it."""
    for key, value in form.items() if isinstance(form, dict) else ():
        if key in ("fields", "more"):
            yield from (each for each in value if "slider" not in each)
        elif isinstance(value, list):
            for each in value:
                yield from _controls(each)


def _one(fields: Fields, name: str) -> str:
    return (fields.get(name) or [""])[-1]


def _mode(query: Mapping[str, str]) -> str:
    return YAML if query.get("as") == YAML else FORM


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
