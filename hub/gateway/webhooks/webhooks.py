"""The webhooks that automations wait for: one table and one entry point.

The gateway's route hands every request to `receive`; what passes is handed to the trigger that registered. Order: is
the client locked, size, is there such a webhook, may it come from there, does it know the secret, is there room for it,
is it well formed.
"""

from __future__ import annotations

import hmac
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest
from hub.core.events import Event, EventBus, Unsubscribe
from hub.core.secret import Secret
from hub.gateway.webhooks.webhook_data import fields_of, read_body, visible_headers
from hub.security.rate_limit import AttemptLimiter, TooManyAttempts
from hub.security.webhook_signature import SignatureForm, is_signed, stamp_of

BODY_LIMIT_BYTES = 1_000_000
FAILED_ATTEMPTS = 20
FAILED_WINDOW_S = 60.0
LOCK_S = 300.0
ACCEPTED_PER_MINUTE = 60
MINUTE_S = 60.0
WEBHOOK_ID = re.compile(r"[A-Za-z0-9._~-]{1,200}")
METHODS = ("POST", "PUT", "GET", "HEAD")
DEFAULT_METHODS = ("POST", "PUT")
TAKEN_LIMIT = 20_000
"""Signed calls of one webhook that are remembered until their time is up, so that none is taken twice."""
SECRET_HEADER = "x-webhook-secret"  # noqa: S105  the name of a header


class WebhookRequest(Struct, frozen=True):
    """A request as the gateway read it.

    Attributes:
        client: The address it comes from, by which failed attempts are counted.
        is_local: Whether it comes from this machine: loopback, not forwarded, a loopback Host, no foreign Origin.
        headers: By lower-case name.
        query: Names and values, in order.
    """

    id: str
    method: str
    client: str
    is_local: bool
    headers: Mapping[str, str]
    query: Iterable[tuple[str, str]]
    body: bytes


class WebhookReply(Struct, frozen=True):
    """The gateway's answer: a status, and a text for people."""

    status: int
    message: str = ""
    retry_after_s: float | None = None


class Webhook(Struct, frozen=True):
    """The webhook that a trigger waits for.

    Attributes:
        owner: The automation, for people.
        secret: Asked for in `Authorization: Bearer` or `X-Webhook-Secret`, or what the body is signed with.
        signature: The form of the signature, when the body is signed.
        per_minute: Accepted calls.
    """

    id: str
    owner: str
    methods: tuple[str, ...] = DEFAULT_METHODS
    local_only: bool = True
    secret: Secret | None = None
    signature: SignatureForm | None = None
    per_minute: int = ACCEPTED_PER_MINUTE


Deliver = Callable[[dict[str, Any]], None]


@dataclass(slots=True)
class _Entry:
    hook: Webhook
    deliver: Deliver
    accepted: deque[float] = field(default_factory=deque)
    taken: OrderedDict[bytes, float] = field(default_factory=OrderedDict)


class Webhooks:
    """The table of webhooks.

    Args:
        clock: Its wall time judges timestamps, its monotonic time the limits.
        limiter: Counts failed attempts by client; one that fails 20 times in 60 s is locked.
    """

    def __init__(self, clock: Clock, limiter: AttemptLimiter | None = None) -> None:
        self._clock = clock
        self._limiter = limiter or AttemptLimiter(clock, FAILED_ATTEMPTS, FAILED_WINDOW_S, LOCK_S)
        self._entries: dict[str, _Entry] = {}

    def register(self, hook: Webhook, deliver: Deliver) -> Unsubscribe:
        """Register a webhook; `deliver` gets the template data of each call, and must not wait.

        Returns:
            A function that ends it.

        Raises:
            InvalidRequest: The id cannot be part of a path, or it is open to others and has no secret.
            Conflict: Another trigger waits for it already.
        """
        if not WEBHOOK_ID.fullmatch(hook.id):
            raise InvalidRequest(
                f"webhook_id: expected letters, digits, and . _ ~ - (at most 200 characters), got {hook.id[:100]!r}"
            )
        if not hook.local_only and not hook.secret:
            raise InvalidRequest(f"the webhook {hook.id} is open to others (local_only: false) and needs a secret")
        known = self._entries.get(hook.id)
        if known is not None:
            raise Conflict(f"the webhook {hook.id} belongs to the automation {known.hook.owner} already")
        entry = self._entries[hook.id] = _Entry(hook, deliver)

        def end() -> None:
            if self._entries.get(hook.id) is entry:
                del self._entries[hook.id]

        return end

    def replayed(self, bus: EventBus, clock: Clock) -> Webhooks:
        """Return a table for a backtest: its webhooks are called when the bus says that they were."""
        return _RecordedWebhooks(bus, clock)

    def ids(self) -> list[str]:
        """Return the ids of all webhooks."""
        return sorted(self._entries)

    def receive(self, request: WebhookRequest) -> WebhookReply:
        """Handle a request: check it, deliver it, and return the reply. Never raises for bad requests."""
        try:
            self._limiter.reserve(request.client)
        except TooManyAttempts as error:
            return WebhookReply(429, error.message, error.retry_after_s)
        if len(request.body) > BODY_LIMIT_BYTES:
            return WebhookReply(413, f"a webhook takes at most {BODY_LIMIT_BYTES} bytes")
        entry = self._entries.get(request.id)
        if entry is None or (entry.hook.local_only and not request.is_local):
            return WebhookReply(404, "there is no such webhook")
        if not self._is_authentic(entry.hook, request) or self._was_taken(entry, request):
            return WebhookReply(401, "the secret or the signature is missing or wrong")
        self._limiter.succeed(request.client)
        if request.method not in entry.hook.methods:
            return WebhookReply(405, f"this webhook takes {', '.join(entry.hook.methods)}")
        retry_after_s = self._room(entry)
        if retry_after_s is not None:
            return WebhookReply(429, "this webhook is called too often", retry_after_s)
        try:
            told = read_body(request.headers.get("content-type", ""), request.body)
            told["query"] = fields_of(request.query)
        except InvalidRequest as error:
            return WebhookReply(400, error.message)
        told["webhook_id"] = entry.hook.id
        told["method"] = request.method
        told["headers"] = visible_headers(request.headers)
        self._take(entry, request)
        entry.deliver(told)
        return WebhookReply(200)

    def _is_authentic(self, hook: Webhook, request: WebhookRequest) -> bool:
        if not hook.secret:
            return hook.local_only and request.is_local
        secret = hook.secret.reveal()
        if hook.signature is not None:
            return is_signed(secret, request.body, request.headers, hook.signature, self._clock.time())
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        shown = token.strip() if scheme.lower() == "bearer" else request.headers.get(SECRET_HEADER, "")
        return bool(shown) and hmac.compare_digest(_digest(shown), _digest(secret))

    def _was_taken(self, entry: _Entry, request: WebhookRequest) -> bool:
        """Whether this signed, timestamped call came before, and so is a replay."""
        form = entry.hook.signature
        return form is not None and stamp_of(request.body, request.headers, form) in entry.taken

    def _take(self, entry: _Entry, request: WebhookRequest) -> None:
        form = entry.hook.signature
        stamp = stamp_of(request.body, request.headers, form) if form is not None else None
        if form is None or stamp is None:
            return
        now = self._clock.monotonic()
        # A signed time may lie ahead as far as behind.
        entry.taken[stamp] = now + 2 * form.tolerance_s
        while entry.taken and (len(entry.taken) > TAKEN_LIMIT or next(iter(entry.taken.values())) < now):
            entry.taken.popitem(last=False)

    def _room(self, entry: _Entry) -> float | None:
        """Count an accepted call; return the seconds to wait if there were too many."""
        now = self._clock.monotonic()
        while entry.accepted and entry.accepted[0] <= now - MINUTE_S:
            entry.accepted.popleft()
        if len(entry.accepted) >= entry.hook.per_minute:
            return entry.accepted[0] + MINUTE_S - now
        entry.accepted.append(now)
        return None


class _RecordedWebhooks(Webhooks):
    """Past calls from the history, by the ids of the webhooks."""

    def __init__(self, bus: EventBus, clock: Clock) -> None:
        super().__init__(clock)
        self._bus = bus

    def register(self, hook: Webhook, deliver: Deliver) -> Unsubscribe:
        def called(event: Event) -> None:
            deliver({"webhook_id": hook.id, "method": event.data.get("method"), "json": {}, "data": {}, "query": {}})

        return self._bus.listen("webhook_received", called, {"webhook_id": hook.id})


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
