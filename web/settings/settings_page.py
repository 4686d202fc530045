"""Settings as forms: each field comes from its section's schema, and saving writes YAML as a person would."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aiohttp import web

from hub.config import edit
from hub.config.marks import value_at
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.core.form import read_fields, read_lists
from web.core.form_fields import MISSING
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.navigation import GROUPS
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.settings.fields import PAGES, SettingField, ShownField, read_field

if TYPE_CHECKING:
    from hub.config.files_editor import EditPlace
    from hub.config.store import ConfigStore, ReloadResult

TABS = {
    tab.title: tab.path
    for group in GROUPS
    for entry in group.entries
    if entry.path == "/settings"
    for tab in entry.tabs
}
"""The pages of the settings, by title."""
FOUND_LIMIT = 40
DEPTH_LIMIT = 4
REMEMBERED = "/settings/privacy/remembered"
FORGET = Schema({Required("id"): All(string, Length(min=1, max=40))})
DONE = {
    "later": phrase("Saved. It takes effect when the hub is started again."),
    "restarting": phrase("Saved. The hub restarts by itself for the change to take effect."),
    "kept": phrase("Saved, but there are problems; until they are fixed, the last good configuration stays in force."),
    "in_force": phrase("Saved. The change is in force."),
    "nothing": phrase("Nothing was changed."),
}


class SettingsPage:
    """The pages General, Network, and Privacy and approvals; only administrators reach them.

    Args:
        client: Where remembered answers are asked for, and forgotten.
        config: The files, their schemas and their checks.
        put_into_force: Applies the saved files; returns None when the hub does not reload by itself.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        config: ConfigStore,
        put_into_force: Callable[[], Awaitable[ReloadResult | None]],
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._config = config
        self._put_into_force = put_into_force
        self._writing = asyncio.Lock()

    async def general(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings[?q=WORDS]`: the home, and the search over all settings."""
        return await self._show(call, "general", self.fields("general"))

    async def network(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/network`."""
        return await self._show(call, "network", self.fields("network"))

    async def privacy(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/privacy`."""
        return await self._show(call, "privacy", self.fields("privacy"))

    async def remembered(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/privacy/remembered`: the commands that were allowed for good."""
        agents = (await self._client.ask(call, "agents.list"))["agents"]
        names = {each["id"]: each.get("name") or each["id"] for each in agents}
        rules = (await self._client.ask(call, "exec.rules.list"))["rules"]
        data = {"rules": [self._rule(each, names) for each in reversed(rules)]}
        page = RenderedPage("settings_remembered", "Remembered answers", data, "/settings/privacy")
        return await self._renderer.respond(call, page)

    async def forget(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/privacy/forget`: let a command that was allowed for good be asked about again."""
        try:
            answer = await self._client.ask(call, "exec.rules.remove", read_fields(call, FORGET))
        except NotFound:  # it is gone already
            if wants_json(call.request):
                raise
            return see_other(REMEMBERED)
        return json_response(answer) if wants_json(call.request) else see_other(REMEMBERED)

    def _rule(self, rule: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        exactly = rule["exactly"]
        return {
            "id": rule["id"],
            "command": " ".join(str(each) for each in exactly["argv"]),
            "folder": exactly["workdir"],
            "agent": names.get(rule["agent"], rule["agent"]),
            "when": self._renderer.when(rule["created_ms"]),
            "iso": self._renderer.iso(rule["created_ms"]),
        }

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/save`: write what changed in a form, unless the configuration would not be valid."""
        posted = read_lists(call)
        name = (posted.get("page") or [""])[-1]
        if name not in PAGES:
            raise NotFound(f"there is no page of settings {name[:40]!r}")
        fields = self.fields(name)
        for each in fields:
            each.take(posted)
        if wanted := next((each for each in fields if each.field.name == (posted.get("reset") or [""])[-1]), None):
            return await self._reset(call, name, fields, wanted)
        problem = await self.write(fields)
        if problem or any(each.error for each in fields):
            if wants_json(call.request):
                raise InvalidRequest(
                    problem or next(f"{each.field.name}: {each.error}" for each in fields if each.error)
                )
            return await self._show(call, name, fields, problem, status=422)
        changed = any(each.text != each.was for each in fields)
        done = _done(await self._put_into_force()) if changed else "nothing"
        return json_response({"done": done}) if wants_json(call.request) else see_other(f"{PAGES[name][0]}?done={done}")

    async def _reset(
        self, call: HttpCall, name: str, fields: Sequence[ShownField], wanted: ShownField
    ) -> web.StreamResponse:
        """Take one setting out of the files, so that its default counts; what else was typed stays in the form."""
        done = "nothing"
        if wanted.stated:
            try:
                async with self._writing:
                    await asyncio.to_thread(self._config.editor.remove_value, wanted.field.path)
                done = _done(await self._put_into_force())
            except HubError as error:
                if wants_json(call.request):
                    raise
                wanted.error, done = error.message, ""
        if wants_json(call.request):
            return json_response({"done": done})
        fresh = {each.field.name: each for each in self.fields(name)}
        shown = [each if each is not wanted or each.error else fresh[each.field.name] for each in fields]
        return await self._show(call, name, shown, done=done, status=422 if wanted.error else 200)

    def fields(self, name: str) -> list[ShownField]:
        """Return the fields of one of `PAGES`, with the values of the files."""
        raw = self._config.current.raw
        found = []
        for card in PAGES[name][2]:
            for field in card.fields:
                section = self._config.sections.get(field.path[0])
                if section is None:
                    continue
                restarts = section.restart or (len(field.path) > 1 and field.path[1] in section.restart_keys)
                found.append(read_field(field, to_json_schema(section.schema), raw, restarts=restarts))
        return found

    def cards(self, name: str, fields: Sequence[ShownField], words: Catalogue) -> list[dict[str, Any]]:
        """Return the cards of one of `PAGES` with their fields, as templates and JSON see them."""
        by_name = {each.field.name: each for each in fields}
        return [
            {
                "title": words.gettext(card.title),
                "yaml": self._place(card.fields[0].path),
                "folded": card.folded and not any(by_name[each.name].is_set for each in card.fields),
                "fields": [
                    {**by_name[each.name].as_dict(words), "yaml": self._place(each.path)}
                    for each in card.fields
                    if each.name in by_name
                ],
            }
            for card in PAGES[name][2]
        ]

    async def write(self, fields: Sequence[ShownField]) -> str:
        """Write the fields whose text changed, unless the configuration would not be valid.

        Returns:
            The errors that belong to none of them; an error of one is shown at it, and then nothing was written.
        """
        async with self._writing:
            return await asyncio.to_thread(self._write, [each for each in fields if each.text != each.was])

    # --- below ---

    def _write(self, changed: Sequence[ShownField]) -> str:
        """Write the changes; errors are shown at their fields, and those of none are returned."""
        texts: dict[str, str] = {}
        hashes: dict[str, str | None] = {}
        secrets = {each.field.secret: each.text for each in changed if each.field.secret}
        before = self._config.editor.set_secrets(secrets) if secrets else None
        problem = self._write_texts(changed, texts, hashes)
        if before is not None and (problem or any(each.error for each in changed)):
            self._config.editor.put_back_secrets(before)
        return problem

    def _write_texts(self, changed: Sequence[ShownField], texts: dict[str, str], hashes: dict[str, str | None]) -> str:
        for each in changed:
            try:
                value = each.value()
                place = self._where(each.field.path)
                hashes.setdefault(place.file, place.hash)
                text = texts.get(place.file, place.text)
                if value is MISSING:
                    if each.was:
                        texts[place.file] = edit.remove(text, place.keys)
                else:
                    texts[place.file] = edit.set_value(text, place.keys, value)
            except HubError as error:
                each.error = error.message
        if not texts or any(each.error for each in changed):
            return ""
        known = {(error.path, error.message) for error in self._config.errors}
        rest = []
        for found in self._config.check_text(texts):
            if (found.path, found.message) in known:
                continue
            at = next((each for each in changed if found.keys[: len(each.field.path)] == each.field.path), None)
            if at is None:
                rest.append(str(found))
            else:
                at.error = found.message
        if rest or any(each.error for each in changed):
            return rest[0] if rest else ""
        try:
            for file, text in texts.items():
                self._config.write_file(file, text, hashes[file], must_be_valid=True)
        except HubError as error:
            return error.message
        return ""

    async def _show(
        self,
        call: HttpCall,
        name: str,
        fields: Sequence[ShownField],
        problem: str = "",
        *,
        done: str = "",
        status: int = 200,
    ) -> web.Response:
        path, title, _ = PAGES[name]
        words = catalogue(self._renderer.preferences(call).language)
        query = call.request.query.get("q", "").strip()[:100]
        data = {
            "form": name,
            "form_path": path,
            "q": query,
            "found": self._found(query, words) if query else [],
            "problem": problem,
            "done": words.gettext(DONE.get(done or call.request.query.get("done", ""), "")),
            "remembered": await self._remembered(call) if name == "privacy" else None,
            "cards": self.cards(name, fields, words),
        }
        return await self._renderer.respond(call, RenderedPage("settings_form", title, data, path, status, secret=True))

    async def _remembered(self, call: HttpCall) -> int | None:
        """Return how many commands may run for good; None where no commands run at all."""
        try:
            return len((await self._client.ask(call, "exec.rules.list"))["rules"])
        except HubError:
            return None

    def _place(self, path: tuple[str, ...]) -> str:
        """Return the address at which a setting is edited as YAML: its line, or that of the nearest above it."""
        raw = self._config.current.raw
        stated: tuple[str, ...] = ()
        for size in range(1, len(path) + 1):
            if value_at(raw, path[:size]) is None:
                break
            stated = path[:size]
        if not stated:
            return f"/settings/files?file={quote(self._file_of(path[0]), safe='')}"
        place = self._config.current.location(stated)
        return f"/settings/files?file={quote(str(place['file']), safe='')}#L{place['line']}"

    def _where(self, path: tuple[str, ...]) -> EditPlace:
        return self._config.editor.where(lambda raw: path)

    def _file_of(self, section: str) -> str:
        try:
            return self._where((section,)).file
        except HubError:
            return "configuration.yaml"

    def _found(self, query: str, words: Catalogue) -> list[dict[str, str]]:
        """Return the settings that all words occur in: those with a field first, then all keys of all sections."""
        wanted = query.lower().split()
        found = []
        listed = set()
        for path, title, cards in PAGES.values():
            for card in cards:
                for field in card.fields:
                    listed.add(field.name)
                    if _fits(wanted, _words_of(field, words), field.name):
                        label = f"{words.gettext(title)} · {words.gettext(card.title)}"
                        found.append(
                            {"title": words.gettext(field.label), "sub": label, "path": f"{path}#f-{field.name}"}
                        )
        for title, path in TABS.items():
            if _fits(wanted, words.gettext(title)):
                found.append(
                    {"title": words.gettext(title), "sub": words.gettext("A page of the settings"), "path": path}
                )
        keys = _keys(self._config.schema(), "", 0)
        for name, description in keys:
            if name not in listed and _fits(wanted, name, description):
                found.append({"title": name, "sub": description, "path": self._place((name.split(".")[0],))})
        return found[:FOUND_LIMIT]


def _words_of(field: SettingField, words: Catalogue) -> str:
    return " ".join(words.gettext(each) for each in (field.label, field.help) if each)


def _fits(wanted: Sequence[str], *texts: str) -> bool:
    text = " ".join(texts).lower()
    return all(word in text for word in wanted)


def _keys(schema: Mapping[str, Any], prefix: str, depth: int) -> list[tuple[str, str]]:
    """Return path and description of every key that a schema describes."""
    found = []
    for key, inner in (schema.get("properties") or {}).items():
        path = f"{prefix}.{key}" if prefix else key
        if inner.get("description"):
            found.append((path, str(inner["description"])))
        if depth < DEPTH_LIMIT:
            found += _keys(inner, path, depth + 1)
    return found


def _done(result: ReloadResult | None) -> str:
    if result is None or result.needs_restart:
        return "restarting" if result is not None and result.restarting else "later"
    return "in_force" if result.applied else "kept"
