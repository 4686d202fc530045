"""What was shown on phones, while its buttons may be pressed: signed addresses, and what comes back as events."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Authority, Context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.phrases import phrase
from hub.entities.pictures import PATHS
from hub.integration.json_storage import JsonStorage
from hub.nodes.notification import Button, Notification

EVENT_ACTION = "mobile_app_notification_action"
EVENT_CLEARED = "mobile_app_notification_cleared"
KEPT = 500
LIFE_MS = 7 * 86_400_000
MEDIA_LIFE_MS = 3_600_000
REPLY_CHARS = 4_000
SIGNED = ("/local/", "/media/local/", *(f"{each}/" for each in PATHS.values()))
"""Pictures of the hub: its folders `www` and `media`, and the entities that have one."""
PATH = "/api/notification/{key}/{what}"


class Shown(Struct, frozen=True):
    """A notification that was sent to a phone.

    Attributes:
        secret: Its addresses are signed with it.
        phone_id: The phone; `device_id` is its name among the devices of the home.
        principal: Whose rights its events have.
        media: The addresses of its picture and film, for that phone.
        fetched: Those of them that the hub gets from elsewhere.
        echo: `action_data` and `group` as they were given, which come back too.
    """

    id: str
    secret: str
    phone_id: str
    device_id: str
    principal: str
    made_ms: int
    tag: str = ""
    buttons: tuple[Button, ...] = ()
    media: dict[str, str] = {}
    fetched: dict[str, str] = {}
    echo: dict[str, Any] = {}

    def path(self, what: str) -> str:
        """Return the address of `press-<number of the button>`, `cleared`, `image` or `video`."""
        return PATH.format(key=f"{self.id}.{self.signature(what)}", what=what)

    def signature(self, what: str) -> str:
        """Return what proves that the hub made an address."""
        return hmac.new(bytes.fromhex(self.secret), what.encode(), hashlib.sha256).hexdigest()[:40]


class ShownNotifications:
    """Keeps them, and fires the events of what is done with them.

    Args:
        bus: Gets the events.
        wall_time: Seconds since the epoch.
        storage: Keeps them over a restart.
        authority_of: Returns the present rights of a principal.
        sign: Signs a path of the gateway for some seconds.
    """

    def __init__(
        self,
        bus: EventBus,
        wall_time: Callable[[], float],
        storage: JsonStorage,
        authority_of: Callable[[str], Authority],
        sign: Callable[[str, float], str],
    ) -> None:
        self._bus, self._wall_time, self._storage = bus, wall_time, storage
        self._authority_of, self._sign = authority_of, sign
        self._kept: dict[str, Shown] | None = None
        self._loading = asyncio.Lock()

    async def keep(self, note: Notification, *, phone_id: str, device_id: str, principal: str) -> Shown:
        """Remember a notification that is about to be sent; if anything can come back, it is on disk then.

        Raises:
            InvalidRequest: Its picture is not one that the hub can give to a phone.
        """
        echo = {key: note.said[key] for key in ("action_data", "group") if key in note.said}
        sources = {key: text for key in ("image", "video") if (text := getattr(note, key))}
        fetched = {key: text for key, text in sources.items() if text.startswith(("http://", "https://"))}
        now_ms = int(self._wall_time() * 1000)
        made = Shown(
            new_id().lower(),
            secrets.token_hex(32),
            phone_id,
            device_id,
            principal,
            now_ms,
            note.tag,
            note.buttons,
            fetched=fetched,
            echo=echo,
        )
        media = {key: made.path(key) if key in fetched else self._signed(text) for key, text in sources.items()}
        made = replace(made, media=media)
        if note.buttons or fetched or (note.tag and not note.clears):
            kept = await self._all()
            for id in [id for id, each in kept.items() if now_ms - each.made_ms > LIFE_MS]:
                del kept[id]
            while len(kept) >= KEPT:
                del kept[next(iter(kept))]
            kept[made.id] = made
            await self._save()
        return made

    async def find(self, key: str, what: str) -> Shown:
        """Return the notification of a signed address.

        Raises:
            NotFound: The hub did not make it, or it is too old.
        """
        id, _, signature = key.partition(".")
        found = (await self._all()).get(id)
        life_ms = MEDIA_LIFE_MS if what in ("image", "video") else LIFE_MS
        if found is None or not hmac.compare_digest(found.signature(what).encode(), signature.encode()):
            raise NotFound(phrase("there is no such notification"))
        if self._wall_time() * 1000 - found.made_ms > life_ms:
            raise NotFound(phrase("this notification is too old"))
        return found

    async def press(self, shown: Shown, index: int, reply: str = "", *, tainted: bool = True) -> None:
        """Fire the event of a button; all buttons of the notification are used up then.

        Raises:
            NotFound: It has no such button, or one of them was pressed before.
        """
        kept = await self._all()
        if kept.get(shown.id) != shown or not index < len(shown.buttons):
            raise NotFound(phrase("this notification was answered already"))
        kept[shown.id] = replace(shown, buttons=())
        await self._save()
        self._fire(EVENT_ACTION, shown, {"action": shown.buttons[index].action, **_reply(reply)}, tainted=tainted)

    async def pressed_in_app(self, phone_id: str, said: Mapping[str, Any]) -> None:
        """Fire the event of a button that an app reports, with what it says beside it.

        Raises:
            InvalidRequest: No notification with this button was sent to this phone.
        """
        action, tag = str(said.get("action", "")), said.get("tag")
        found = [
            each
            for each in (await self._all()).values()
            if each.phone_id == phone_id
            and any(button.action == action for button in each.buttons)
            and (tag is None or tag == each.tag)
        ]
        if not found:
            raise InvalidRequest(phrase("no notification with the button {action} was sent here", action=action[:80]))
        self._fire(EVENT_ACTION, found[-1], {**said, "action": action}, tainted=True)

    async def cleared(self, shown: Shown, said: Mapping[str, Any] | None = None, *, tainted: bool = True) -> None:
        """Fire the event of a notification that its reader dismissed."""
        self._fire(EVENT_CLEARED, shown, said or {}, tainted=tainted)

    async def cleared_in_app(self, phone_id: str, said: Mapping[str, Any]) -> None:
        """Fire the event of a notification that was dismissed in an app, as it reports.

        Raises:
            InvalidRequest: No notification with this tag was sent to this phone.
        """
        tag = str(said.get("tag") or "")
        found = [each for each in (await self._all()).values() if (each.phone_id, each.tag) == (phone_id, tag)]
        if not found:
            raise InvalidRequest(phrase("no notification with the tag {tag} was sent here", tag=tag[:80]))
        await self.cleared(found[-1], said)

    def _signed(self, source: str) -> str:
        path = unquote(urlsplit(source).path)
        if not source.startswith(SIGNED):
            known = ", ".join(f"{each}…" for each in SIGNED)
            raise InvalidRequest(
                phrase("{source}: expected https://… or one of {known}", source=source[:200], known=known)
            )
        return self._sign(path, MEDIA_LIFE_MS / 1000)

    def _fire(self, type: str, shown: Shown, said: Mapping[str, Any], *, tainted: bool) -> None:
        tag = {"tag": shown.tag} if shown.tag else {}
        data = {**shown.echo, **tag, **said, "device_id": shown.device_id}
        self._bus.fire(type, data, Context(self._authority_of(shown.principal).narrow(tainted=tainted)))

    async def _all(self) -> dict[str, Shown]:
        async with self._loading:
            if self._kept is None:
                kept = [msgspec.convert(each, Shown) for each in await self._storage.load([])]
                self._kept = {each.id: each for each in kept}
            return self._kept

    async def _save(self) -> None:
        await self._storage.save([msgspec.to_builtins(each) for each in (self._kept or {}).values()])


def _reply(text: str) -> dict[str, str]:
    return {"reply_text": text[:REPLY_CHARS]} if text else {}
