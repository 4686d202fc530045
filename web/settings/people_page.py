"""Who lives here, and the tokens with which programs and other machines sign in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub.core.errors import HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.slugs import slugify
from hub.core.surfaces import HttpCall
from hub.security.people import IMPLICIT_OWNER_ID, People
from web.core.form import read_fields
from web.core.i18n import catalogue
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, see_other

if TYPE_CHECKING:
    from hub.config.store import ConfigStore

PATH = "/settings/people"
RIGHTS = {
    "operator.read": phrase("Look only"),
    "operator.write": phrase("Use the home"),
    "operator.admin": phrase("Everything"),
}
LIFETIMES = {"": phrase("No end"), "30d": phrase("30 days"), "365d": phrase("1 year")}
_NAME = All(string, Length(min=1, max=100))
PERSON = Schema({Required("name"): _NAME, Optional("owner"): string})
TOKEN = Schema(
    {Required("name"): _NAME, Required("may"): In(list(RIGHTS)), Optional("lasts", default=""): In(list(LIFETIMES))}
)
REVOKE = Schema({Required("id"): All(string, Length(min=1, max=64))})


class PeoplePage:
    """The page and its forms; who reaches them is an administrator.

    Args:
        client: Where tokens are made and revoked.
        people: Returns who lives here now.
        config: Where a person is written.
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
            made = await self._client.ask(call, "token.create", params)
        except HubError as error:
            return await self._show(call, token={**fields, "error": error.message}, status=error.http_status)
        return await self._show(call, made=made)

    async def revoke(self, call: HttpCall) -> web.StreamResponse:
        """`POST /settings/people/revoke`: end a token."""
        await self._client.ask(call, "token.revoke", read_fields(call, REVOKE))
        return see_other(PATH)

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
        data = {
            "people": [
                {"name": each.name, "owner": each.owner, "count": len(each.identities)} for each in self._people().all()
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
