"""Web push: notifications while the page is closed, encrypted for that browser alone.

The push services of the browsers' makers carry it and cannot read it (RFC 8291); each is called through the hub's
egress client, whose address policy judges the endpoint that a browser named.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest, LimitExceeded, NotFound, Unavailable
from hub.core.events import Event
from hub.core.extras import install_command
from hub.core.schema import All, Coerce, In, Length, Match, Optional, Range, Required, Schema, ensure_list, slug, string
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from hub.core.surfaces import ADMIN, WRITE, Method, MethodCall
from hub.nodes.contract import EVENT_NOTICE

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.nodes.notification import Notification
    from hub.nodes.phones import Phone
    from hub.nodes.shown import Shown

SUBSCRIPTIONS_LIMIT = 50
BODY_CHARS = 1_000
PAYLOAD_BYTES = 3_800
"""What push services take of a message, less what the encryption adds."""
TTL_S = 86_400
TOKEN_LIFE_S = 43_200
GONE = frozenset({404, 410})
TOPICS = ("approvals", "questions", "reminders", "answers")
"""What the hub tells by itself; a browser gets those that its person chose."""
URGENT = frozenset({"approvals", "questions"})

_ENDPOINT = All(string, Length(max=2_048), Match(r"^https?://", msg="expected the endpoint of a push service"))
_KEY = All(string, Match(r"^[A-Za-z0-9_=-]{16,128}$", msg="expected a key in base64url"))
_SUBSCRIBE = Schema(
    {
        Required("endpoint"): _ENDPOINT,
        Required("keys"): Schema({Required("p256dh"): _KEY, Required("auth"): _KEY}),
        Optional("topics", default=list, description="What the hub tells by itself."): [In(TOPICS)],
    }
)
_NOTIFY: dict[object, object] = {
    Optional("title", default="Homarus"): All(string, Length(max=200)),
    Optional("body", default=""): All(string, Length(max=BODY_CHARS)),
}
_SEND: dict[object, object] = {
    **_NOTIFY,
    Required("topic"): In(TOPICS),
    Optional("path", default="/", description="The page that a press opens."): All(
        string, Length(max=2_048), Match(r"^/(?![/\\])", msg="expected a path of the dashboard")
    ),
    Optional("tag", default="", description="A later one with the same tag takes its place."): All(
        string, Length(max=128)
    ),
    Optional("person", default="", description="Whom it is for; the owners if empty."): All(string, Length(max=64)),
    Optional("ttl_s", default=TTL_S, description="How long a push service keeps it."): All(
        Coerce(int), Range(min=1, max=TTL_S)
    ),
}
_SERVICE = Schema(
    {
        Required("message", description="What is shown."): All(string, Length(min=1, max=BODY_CHARS)),
        Optional("title", default="Homarus", description="The line above it."): All(string, Length(max=200)),
        Optional("target", description="Ids of people; the owners if omitted."): ensure_list(slug),
    }
)


class WebPush:
    """Keeps the subscriptions and sends to them.

    Args:
        host: Registers methods and the service.
        contact: The address for a push service's questions.
    """

    name = "web push"
    rank = 20
    takes_commands = False

    def __init__(self, host: IntegrationHost, contact: str) -> None:
        self._host = host
        self._contact = contact
        self._storage = host.storage("push")
        self._key = ""
        self._subscriptions: list[dict[str, Any]] = []
        self._saving = asyncio.Lock()
        self._unlisten: Callable[[], Any] | None = None

    async def open(self) -> None:
        """Load the subscriptions, and serve.

        Raises:
            HubError: It cannot be read.
        """
        kept = await self._storage.load({})
        self._key, self._subscriptions = kept.get("key", ""), kept.get("subscriptions", [])
        host, remove = self._host, Schema({Required("endpoint"): _ENDPOINT})
        for method in (
            Method("push.web.vapidPublicKey", self._public, host.domain, Schema({}), WRITE),
            Method("push.web.subscribe", self._subscribe, host.domain, _SUBSCRIBE, WRITE),
            Method("push.web.state", self._state, host.domain, remove, WRITE),
            Method("push.web.send", self._tell, host.domain, Schema(_SEND), ADMIN),
            Method("push.web.unsubscribe", self._unsubscribe, host.domain, remove, WRITE),
            Method("push.web.test", self._test, host.domain, Schema(_NOTIFY), WRITE),
        ):
            host.methods.add(method)
        told = "Show a notification on the paired phones"
        optional = ResponseMode.OPTIONAL
        host.services.register("notify", self._notify, _SERVICE, optional, agent=AgentRule.ASK, description=told)
        self._listen()

    async def carry(self, phone: Phone, note: Notification, shown: Shown) -> bool:
        """Show a notification on a phone whose page is closed; see `Carrier`."""
        from hub.nodes.node_phones import page_params  # is there where a phone is

        valid, principal = self._host.methods.all_valid, f"device:{phone.id}"
        meant = [each for each in self._subscriptions if each["principal"] == principal and valid(each["links"])]
        if not meant:
            return False
        said = {"title": note.title or "Homarus", "body": note.message[:BODY_CHARS], **page_params(note, shown)}
        if len(json.dumps(said, ensure_ascii=False).encode()) > PAYLOAD_BYTES:
            said = {**said, "body": note.message[:200], "buttons": said.get("buttons", [])[:2]}
        headers = {"TTL": str(note.ttl_s), "Urgency": "high" if note.level >= 4 else "normal"}
        if note.tag:
            headers["Topic"] = _text(sha256(note.tag.encode()).digest())[:32]
        results = await asyncio.gather(*(self._send(each, said, headers) for each in meant))
        await self._forget_gone(meant, results)
        if not any(each["ok"] for each in results):
            raise Unavailable(f"no push service took it: {results}"[:500])
        return True

    async def send(
        self, title: str, body: str, who: Callable[[Authority], bool], *, ttl_s: int = TTL_S, **more: str
    ) -> list[dict[str, Any]]:
        """Send to the browsers whose credential is still valid; subscriptions that no longer exist are deleted.

        Args:
            title: The line above it.
            body: What is shown.
            who: Whether the phone of whoever has these rights is meant.
            ttl_s: How long a push service keeps it for a browser that is off.
            more: `topic`: only browsers that chose it; `path`: the page that a press opens; `tag`: what it takes the
                place of.

        Returns:
            For each, its `endpoint`'s host, whether it was taken (`ok`), and the `status` or the `error`.
        """
        valid = self._host.methods.all_valid
        self._subscriptions = [each for each in self._subscriptions if valid(each["links"])]
        topic = more.pop("topic", "")
        meant = [each for each in self._meant(who) if not topic or topic in each.get("topics", ())]
        shown = {"title": title, "body": body, **{name: value for name, value in more.items() if value}}
        headers = {"TTL": str(ttl_s), "Urgency": "high" if topic in URGENT else "normal"}
        results = await asyncio.gather(*(self._send(each, shown, headers) for each in meant))
        await self._forget_gone(meant, results)
        return [{key: value for key, value in each.items() if key != "gone"} for each in results]

    async def _forget_gone(self, meant: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
        gone = {each["endpoint"] for each, result in zip(meant, results, strict=True) if result["gone"]}
        if gone:
            await self._keep([each for each in self._subscriptions if each["endpoint"] not in gone])

    def _meant(self, who: Callable[[Authority], bool]) -> list[dict[str, Any]]:
        authority_of = self._host.methods.authority_of
        return [each for each in self._subscriptions if who(authority_of(each["principal"]))]

    async def _send(
        self, subscription: Mapping[str, Any], said: Mapping[str, Any], how: Mapping[str, str]
    ) -> dict[str, Any]:
        place = urlsplit(subscription["endpoint"])
        shown: dict[str, Any] = {"service": place.hostname, "ok": False, "gone": False}
        try:
            message = json.dumps(said, ensure_ascii=False).encode()
            sealed, headers = await asyncio.to_thread(self._sealed, subscription, message)
            answer = await self._host.egress.fetch(
                subscription["endpoint"], method="POST", headers={**headers, **how}, body=sealed, redirect_limit=0
            )
        except HubError as error:
            return {**shown, "error": error.message}
        ok = 200 <= answer.status < 300
        return {**shown, "ok": ok, "status": answer.status, "gone": answer.status in GONE}

    def _sealed(self, subscription: Mapping[str, Any], message: bytes) -> tuple[bytes, dict[str, str]]:
        pywebpush, vapid = _libraries()
        place = urlsplit(subscription["endpoint"])
        info = {"endpoint": subscription["endpoint"], "keys": subscription["keys"]}
        try:
            sealed = pywebpush.WebPusher(info).encode(message)["body"]
        except (ValueError, pywebpush.WebPushException) as error:
            raise InvalidRequest(f"the keys of this subscription cannot be used: {error}") from error
        claims = {
            "sub": self._contact,
            "aud": f"{place.scheme}://{place.netloc}",
            "exp": int(self._host.clock.time()) + TOKEN_LIFE_S,
        }
        signed = vapid.Vapid02.from_string(self._key).sign(claims)
        kind = {"Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream"}
        return bytes(sealed), {**signed, **kind}

    async def _public(self, call: MethodCall) -> Mapping[str, Any]:
        return {"vapidPublicKey": await self._public_key()}

    async def _public_key(self) -> str:
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        _libraries()
        async with self._saving:
            if not self._key:
                number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
                self._key = _text(number.to_bytes(32))
                await self._save()
        key = ec.derive_private_key(int.from_bytes(base64.urlsafe_b64decode(f"{self._key}=")), ec.SECP256R1())
        return _text(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    async def _subscribe(self, call: MethodCall) -> Mapping[str, Any]:
        endpoint, keys = call.params["endpoint"], dict(call.params["keys"])
        await self._public_key()
        others = [each for each in self._subscriptions if each["endpoint"] != endpoint]
        if len(others) >= SUBSCRIPTIONS_LIMIT:
            raise LimitExceeded(f"{SUBSCRIPTIONS_LIMIT} browsers are subscribed already")
        links, own = self._host.methods.links(call.caller), call.caller.credential_id
        signed_in = {own} if own.startswith("cookie:") else set()  # signing out of the dashboard ends it
        principal = call.caller.authority.principal
        made = {"endpoint": endpoint, "keys": keys, "principal": principal, "links": sorted(links | signed_in)}
        await self._keep([*others, {**made, "topics": call.params["topics"]}])
        return {"subscriptionId": principal}

    async def _state(self, call: MethodCall) -> Mapping[str, Any]:
        """Return what a browser of the caller gets; `subscribed` is false for one that gets nothing."""
        principal, endpoint = call.caller.authority.principal, call.params["endpoint"]
        found = [
            each
            for each in self._subscriptions
            if (each["endpoint"], each["principal"]) == (endpoint, principal)
            and self._host.methods.all_valid(each["links"])
        ]
        return {"subscribed": bool(found), "topics": found[0].get("topics", []) if found else []}

    async def _tell(self, call: MethodCall) -> Mapping[str, Any]:
        """Send to the browsers of a person that chose the topic; none of them is no error."""
        return {"results": await self._send_notice(**call.params)}

    async def _noticed(self, event: Event) -> None:
        await self._send_notice(**event.data)

    async def _send_notice(self, *, person: str = "", **notice: Any) -> list[dict[str, Any]]:
        def who(whose: Authority) -> bool:
            return whose.person == person if person else whose.owner

        return await self.send(who=who, **notice)

    async def _unsubscribe(self, call: MethodCall) -> Mapping[str, Any]:
        principal, endpoint = call.caller.authority.principal, call.params["endpoint"]
        left = [each for each in self._subscriptions if (each["endpoint"], each["principal"]) != (endpoint, principal)]
        removed = len(left) < len(self._subscriptions)
        if removed:
            await self._keep(left)
        return {"removed": removed}

    async def _test(self, call: MethodCall) -> Mapping[str, Any]:
        mine = partial(_belong_together, call.caller.authority)
        return {"results": await self.send(call.params["title"], call.params["body"], mine)}

    async def _notify(self, call: ServiceCall) -> Mapping[str, Any]:
        targets = call.data.get("target")

        def who(whose: Authority) -> bool:
            return whose.person in targets if targets else whose.owner

        if not self._meant(who):
            whose = f"phone of {', '.join(targets)}" if targets else "owner's phone"
            raise NotFound(f"no {whose} is subscribed: open /p on it and switch notifications on")
        results = await self.send(call.data["title"], call.data["message"], who)
        if not any(each["ok"] for each in results):
            raise Unavailable(f"no push service took it: {results}"[:500])
        return {"results": results}

    async def _keep(self, subscriptions: list[dict[str, Any]]) -> None:
        async with self._saving:
            self._subscriptions = subscriptions
            await self._save()
        self._listen()

    def _listen(self) -> None:
        """Listen to notices while a browser is subscribed: without one, none is made."""
        if self._subscriptions and self._unlisten is None:
            undo = self._host.bus.listen(EVENT_NOTICE, self._noticed), self._host.nodes.carry(self)
            self._unlisten = lambda: [each() for each in undo]
        elif not self._subscriptions and self._unlisten is not None:
            self._unlisten()
            self._unlisten = None

    async def _save(self) -> None:
        await self._storage.save({"key": self._key, "subscriptions": self._subscriptions})


def _belong_together(one: Authority, other: Authority) -> bool:
    return one.principal == other.principal or (one.person is not None and one.person == other.person)


def _libraries() -> tuple[Any, Any]:
    try:
        import py_vapid
        import pywebpush
    except ModuleNotFoundError as error:
        raise Unavailable(f"web push needs a package that is missing; run: {install_command('push')}") from error
    return pywebpush, py_vapid


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
