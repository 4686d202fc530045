"""The people who live here, and the tokens with which programs and other machines sign in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from aiohttp import web

from hub.config.files_editor import REMOVED
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.slugs import slugify
from hub.core.surfaces import HttpCall
from hub.security.people import IMPLICIT_OWNER_ID, People, is_identity
from web.channels.identity_names import IdentityNames
from web.core.form import read_fields, read_lists, wrong_fields
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

if TYPE_CHECKING:
    from hub.config.paths import KeyPath
    from hub.config.store import ConfigStore

PATH = "/settings/people"
PERSON_PATH = f"{PATH}/person"
NAME_LIMIT = 100
LAST_OWNER = phrase("At least one person must own this home: make another one an owner first.")
NOBODY = phrase("Nobody more")
RIGHTS = {
    "operator.metrics": phrase("Metrics only"),
    "operator.browser": phrase("Hand over a browser"),
    "operator.read": phrase("Look only"),
    "operator.write": phrase("Use the home"),
    "operator.admin": phrase("Everything"),
}
LIFETIMES = {"": phrase("No end"), "30d": phrase("30 days"), "365d": phrase("1 year")}
_NAME = All(string, Length(max=1_000))
PERSON = Schema({Required("name"): _NAME, Optional("owner"): string})
TOKEN = Schema(
    {Required("name"): _NAME, Required("may"): In(list(RIGHTS)), Optional("lasts", default=""): In(list(LIFETIMES))}
)
REMOVE = Schema({Required("id"): All(string, Length(min=1, max=64))})
REVOKE = Schema({Required("id"): All(string, Length(min=1, max=64))})


class PeoplePage:
    """The page and its forms; only administrators reach them.

    Args:
        client: Calls the methods for tokens.
        people: Returns who lives here now.
        config: Saves people.
        put_into_force: Reads and applies the saved files.
    """

    def __init__(
        self,
        renderer: Renderer,
        client: MethodClient,
        people: Callable[[], People],
        config: ConfigStore,
        put_into_force: Callable[[], Awaitable[Any]],
    ) -> None:
        self._renderer = renderer
        self._client = client
        self._people = people
        self._config = config
        self._put_into_force = put_into_force

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/people`."""
        return await self._show(call)

    async def add_person(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/people/add`: write a person into the section `people:`."""
        fields = read_fields(call, PERSON)
        try:
            _check_name(fields["name"].strip())
            await asyncio.to_thread(self._add, fields["name"].strip(), bool(fields.get("owner")))
        except HubError as error:
            return await self._show(call, person={**fields, "error": error.message}, status=error.http_status)
        await self._put_into_force()
        return see_other(PATH)

    async def add_token(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/people/token`: make a token and show it this once."""
        fields = read_fields(call, TOKEN)
        params = {"name": fields["name"].strip(), "scopes": [fields["may"]]}
        if fields["lasts"]:
            params["expires"] = fields["lasts"]
        try:
            _check_name(params["name"])
            made = await self._client.ask(call, "token.create", params)
        except HubError as error:
            wrong = wrong_fields(error, ("name",))
            return await self._show(
                call, token={**fields, "error": wrong["name"] or wrong[""]}, status=error.http_status
            )
        return await self._show(call, made=made)

    async def revoke(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/people/revoke`: end a token."""
        await self._client.ask(call, "token.revoke", read_fields(call, REVOKE))
        return see_other(PATH)

    async def person(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/people/person?id=…`: one person, to be edited."""
        return await self._person(call, call.request.query.get("id", ""))

    async def edit(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/people/person`: write name, ownership and chat accounts of a person."""
        typed = read_lists(call)
        id = (typed.get("id") or [""])[-1]
        try:
            await asyncio.to_thread(self._edit, id, typed)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._person(call, id, typed, error)
        await self._put_into_force()
        return json_response({"ok": True}) if wants_json(call.request) else see_other(PATH)

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/people/remove`: take a person out of the configuration, unless nobody would own the home."""
        id = read_fields(call, REMOVE)["id"]
        try:
            await asyncio.to_thread(self._remove, id)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._person(call, id, None, error)
        await self._put_into_force()
        return json_response({"ok": True}) if wants_json(call.request) else see_other(PATH)

    async def rename(self, id: str, name: str) -> None:
        """Write the name of a person; the owner whom no file names yet gets an entry.

        Raises:
            HubError: It is not valid, or the file cannot be written.
        """
        await asyncio.to_thread(self._rename, id, name)

    # --- below ---

    def _rename(self, id: str, name: str) -> None:
        present = self._config.current.raw.get("people") or []
        place = next((at for at, each in enumerate(present) if each.get("id") == id), None)
        if place is None:
            self._config.editor.set_value(("people", len(present)), {"id": id, "name": name, "owner": True})
        else:
            self._config.editor.set_value(("people", place, "name"), name)

    def _edit(self, id: str, typed: Mapping[str, Sequence[str]]) -> None:
        name = (typed.get("name") or [""])[-1].strip()
        _check_name(name)
        person = self._people().by_id(id)
        if person is None:
            raise NotFound(phrase("There is no such person any more."))
        owner = bool(typed.get("owner"))
        if person.owner and not owner and len(self._people().owners()) == 1:
            raise Conflict(LAST_OWNER, details={"field": "owner"})
        kept = [each for each in person.identities if each in typed.get("identity", ())]
        more = [each.strip() for field in ("add", "typed") for each in typed.get(field, ()) if each.strip()]
        for each in more:
            if not is_identity(each):
                told = phrase(
                    "Expected an account such as telegram:user:123456789: the app, what it is, and its id there."
                )
                raise InvalidRequest(told, details={"field": "typed"})
            holder = self._people().by_identity(each)
            if holder is not None and holder.id != id:
                raise Conflict(phrase("That is {name} already.", name=holder.name), details={"field": "typed"})
        identities = list(dict.fromkeys([*kept, *more]))
        item: dict[str, Any] = {"id": id, "name": name} | ({"owner": True} if owner else {})
        item |= {"identities": identities} if identities else {}
        present = self._config.current.raw.get("people") or []
        place = next((at for at, each in enumerate(present) if each.get("id") == id), None)
        if place is None:
            self._config.editor.change({("people",): [item]})
            return
        before = present[place]
        edits: dict[KeyPath, Any] = {}
        for key, value in {"name": name, "owner": owner, "identities": identities}.items():
            if value and before.get(key) != value:
                edits["people", place, key] = value
            elif not value and key in before:
                edits["people", place, key] = REMOVED
        if edits:
            self._config.editor.change(edits)

    def _remove(self, id: str) -> None:
        person = self._people().by_id(id)
        present = self._config.current.raw.get("people") or []
        place = next((at for at, each in enumerate(present) if each.get("id") == id), None)
        if person is None or (place is None and not person.owner):
            raise NotFound(phrase("There is no such person any more."))
        if place is None or (person.owner and len(self._people().owners()) == 1):
            raise Conflict(LAST_OWNER, details={"field": "owner"})
        self._config.editor.change({("people", place): REMOVED})

    async def _names(self, call: HttpCall) -> IdentityNames:
        access = await self._client.ask(call, "pairing.list", {"all": True})
        return IdentityNames(access, (await self._client.ask(call, "channels.status"))["channelLabels"])

    async def _person(
        self,
        call: HttpCall,
        id: str,
        typed: Mapping[str, Sequence[str]] | None = None,
        error: HubError | None = None,
    ) -> web.Response:
        person = self._people().by_id(id)
        if person is None:
            return await self._show(call, status=404)
        names = await self._names(call)
        kept = person.identities if typed is None else typed.get("identity", ())
        words = catalogue(self._renderer.preferences(call).language)
        free = [(each["identity"], f"{each['name']} · {each['place']}") for each in names.free()]
        wrong = wrong_fields(error, ("name", "owner", "typed"))
        value = {
            "name": person.name if typed is None else (typed.get("name") or [""])[-1],
            "owner": person.owner if typed is None else bool(typed.get("owner")),
            "add": "" if typed is None else (typed.get("add") or [""])[-1],
            "typed": "" if typed is None else (typed.get("typed") or [""])[-1],
        }
        data = {
            "id": id,
            "who": person.name,
            "value": value,
            "wrong": {name: words.gettext(text) for name, text in wrong.items()},
            "identities": [
                {**names.shown(each), "name": names.name_of(each), "kept": each in kept} for each in person.identities
            ],
            "free": [("", words.gettext(NOBODY)), *free] if free else [],
        }
        page = RenderedPage("settings_person", "People and sign-in", data, PATH, error.http_status if error else 200)
        return await self._renderer.respond(call, page)

    def _add(self, name: str, owner: bool) -> None:
        present = self._config.current.raw.get("people") or []
        taken = {each.id for each in self._people().all()}
        id = slugify(name) or f"person_{len(taken) + 1}"
        if id in taken and not (id == IMPLICIT_OWNER_ID and not present):
            raise InvalidRequest(f"there is a person with the id {id} already; choose a name that tells them apart")
        person: dict[str, Any] = {"id": id, "name": name} | ({"owner": True} if owner else {})
        if present:
            self._config.editor.set_value(("people", len(present)), person)
            return
        # Until somebody has a name, the home belongs to one owner without one; it stays theirs.
        first = [] if owner else [{"id": IMPLICIT_OWNER_ID, "name": "Owner", "owner": True}]
        self._config.editor.set_value(("people",), [*first, person])

    async def _show(
        self,
        call: HttpCall,
        *,
        person: dict[str, Any] | None = None,
        token: dict[str, Any] | None = None,
        made: dict[str, Any] | None = None,
        status: int = 200,
    ) -> web.Response:
        words = catalogue(self._renderer.preferences(call).language)
        found = (await self._client.ask(call, "token.list"))["tokens"]
        names = await self._names(call)
        data = {
            "people": [
                {
                    "name": each.name,
                    "owner": each.owner,
                    "path": f"{PERSON_PATH}?{urlencode({'id': each.id})}",
                    "accounts": ", ".join(dict.fromkeys(names.shown(one)["place"] for one in each.identities)),
                }
                for each in self._people().all()
            ],
            "tokens": [
                self._token(each, words.gettext) for each in found if not each["revokedAtMs"] and not each["ended"]
            ],
            "rights": [(value, words.gettext(text)) for value, text in RIGHTS.items()],
            "lifetimes": [(value, words.gettext(text)) for value, text in LIFETIMES.items()],
            "person": person or {},
            "token": token or {},
            "made": None if made is None else {"name": made["name"], "token": made["token"]},
        }
        return await self._renderer.respond(
            call, RenderedPage("settings_people", "People and sign-in", data, PATH, status, secret=True)
        )

    def _token(self, token: dict[str, Any], translate: Callable[[str], str]) -> dict[str, Any]:
        strongest = next((scope for scope in reversed(RIGHTS) if scope in token["scopes"]), "")
        return {
            "id": token["id"],
            "name": token["name"],
            "may": translate(RIGHTS[strongest]) if strongest else ", ".join(token["scopes"]),
            "used": self._renderer.when(token["lastUsedAtMs"]),
            "used_iso": self._renderer.iso(token["lastUsedAtMs"]),
            "ends": self._renderer.when(token["expiresAtMs"]),
        }


def _check_name(name: str) -> None:
    if not name or len(name) > NAME_LIMIT:
        told = phrase("A name of at most {count} letters was expected.", count=NAME_LIMIT)
        raise InvalidRequest(told, details={"field": "name"})
