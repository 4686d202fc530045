"""Cooldowns: how long a credential is not used for a model after a failure, across restarts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import StrEnum
from operator import itemgetter
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.core.sql import SqlConnection
from hub.models.contract import AuthError, BillingError, ModelError, RateLimited
from hub.storage.database import Database

REST_S = (60.0, 300.0, 1_500.0, 3_600.0)
"""After the first, second, third and every further rate limit or refusal of a key in a row."""
BILLING_S = 5 * 3_600.0
BILLING_LIMIT_S = 24 * 3_600.0
FAILURE_WINDOW_S = 24 * 3_600.0
"""A failure counts together with the one before when it comes within this time after its cooldown."""
COOLDOWNS_LIMIT = 2_000
ANY_MODEL = "*"


class CooldownReason(StrEnum):
    """The reason why a credential is not used."""

    RATE_LIMIT = "rate_limit"
    BILLING = "billing"
    AUTH = "auth"


class Cooldown(Struct, frozen=True):
    """A cooldown.

    Attributes:
        reason: The provider's message.
        failures: How many in a row.
        since: Seconds since the epoch.
        wait_s: How long it lasts, unless the credential is changed or works again before.
        key: Which key it is about, as `fingerprint` names it.
    """

    reason: CooldownReason
    failures: int
    since: float
    wait_s: float
    key: str


class Rest(Struct, frozen=True):
    """The seconds for which others are tried first, and the reason: a `CooldownReason`, or `failing`."""

    seconds: float
    reason: str


class CooldownPlace(Struct, frozen=True):
    """The subject of a cooldown; `model` is `*` for the whole credential."""

    provider: str
    credential: str
    model: str = ANY_MODEL


def cooldown_after(error: ModelError, before: Cooldown | None, now: float, key: str) -> Cooldown | None:
    """Return the cooldown after a failure; None if the error says nothing about the credential.

    Args:
        error: The failure.
        before: The cooldown of the same place so far.
        now: Seconds since the epoch.
        key: Fingerprint of the key that was used.
    """
    match error:
        case RateLimited():
            reason = CooldownReason.RATE_LIMIT
        case BillingError():
            reason = CooldownReason.BILLING
        case AuthError():
            reason = CooldownReason.AUTH
        case _:
            return None
    failures = 1
    if before is not None and before.reason is reason and before.key == key:
        if before.since <= now < before.since + before.wait_s:
            return before  # a retry within the cooldown is no further failure
        if now < before.since + before.wait_s + FAILURE_WINDOW_S:
            failures = before.failures + 1
    return Cooldown(reason, failures, now, _wait_s(reason, failures, error.retry_after_s), key)


def _wait_s(reason: CooldownReason, failures: int, retry_after_s: float | None) -> float:
    match reason:
        case CooldownReason.RATE_LIMIT | CooldownReason.AUTH:
            step = REST_S[min(failures, len(REST_S)) - 1]
            return min(max(step, retry_after_s or 0.0), BILLING_LIMIT_S)
        case CooldownReason.BILLING:
            return float(min(BILLING_S * 2 ** min(failures - 1, 10), BILLING_LIMIT_S))


def fingerprint(key: Secret | None, *others: str) -> str:
    """Return a fingerprint of a key and its settings that reveals nothing of it; empty without a key."""
    told = "\0".join(filter(None, [key.reveal() if key else "", *others]))
    return hashlib.sha256(told.encode()).hexdigest()[:16] if told else ""


class Cooldowns:
    """The cooldowns of all credentials.

    Args:
        clock: Time; durations are measured on its monotonic side as well, so that a wall clock set back prolongs none.
        db: Stores them; without it they end with the process.

    Attributes:
        found: Every cooldown, and its end on the monotonic clock.
        begun: How many rests have begun, these and those of `Health`: while it stays the same, nothing new rests.
    """

    def __init__(self, clock: Clock, db: Database | None = None) -> None:
        self._clock = clock
        self._db = db
        self.found: dict[CooldownPlace, tuple[Cooldown, float]] = {}
        self.begun = 0

    async def load(self) -> None:
        """Load the cooldowns of earlier processes.

        Raises:
            HubError: The database cannot be read.
        """
        if self._db is None:
            return
        rows = await self._db.read(
            lambda connection: connection.execute(
                "SELECT provider, credential, model, reason, failures, since, wait_s, key FROM model_cooldowns"
            ).fetchall()
        )
        for provider, credential, model, reason, failures, since, wait_s, key in rows:
            kind = CooldownReason(reason)
            # An earlier version let a refused key rest for good, and wrote no time.
            wait = _wait_s(kind, failures, None) if wait_s is None else wait_s
            self._keep(CooldownPlace(provider, credential, model), Cooldown(kind, failures, since, wait, key))

    def record_failure(self, place: CooldownPlace, error: ModelError, key: str) -> None:
        """Record a failed call; a failure of the whole credential counts for all its models."""
        if isinstance(error, BillingError) or (isinstance(error, AuthError) and error.details.get("status") != 403):
            place = CooldownPlace(place.provider, place.credential)
        before = self.found.get(place)
        cooldown = cooldown_after(error, before[0] if before else None, self._clock.time(), key)
        if cooldown is None or (before is not None and cooldown is before[0]):
            return
        self._keep(place, cooldown)
        row = (place.provider, place.credential, place.model, cooldown.reason.value, cooldown.failures)
        self._post(
            lambda connection: connection.execute(
                "INSERT INTO model_cooldowns(provider, credential, model, reason, failures, since, wait_s, key)"
                " VALUES (?,?,?,?,?,?,?,?) ON CONFLICT(provider, credential, model) DO UPDATE SET"
                " reason = excluded.reason, failures = excluded.failures, since = excluded.since,"
                " wait_s = excluded.wait_s, key = excluded.key",
                (*row, cooldown.since, cooldown.wait_s, cooldown.key),
            )
        )

    def record_success(self, place: CooldownPlace) -> None:
        """Clear the cooldowns that a successful call has disproved."""
        for each in (place, CooldownPlace(place.provider, place.credential)):
            if each in self.found:
                self._forget(each)

    def rest(self, place: CooldownPlace, key: str) -> Rest | None:
        """Return how long a credential rests for a model, and why; None if it may be used now."""
        places = (place, CooldownPlace(place.provider, place.credential))
        left_s, each = max([(self._left_s(each, key), each) for each in places], key=itemgetter(0))
        return Rest(left_s, self.found[each][0].reason.value) if left_s > 0 else None

    def of(self, provider: str, credential: str, key: str) -> list[dict[str, Any]]:
        """Return the active cooldowns of a credential, as plain data."""
        return [
            {
                "model": place.model,
                "reason": found.reason.value,
                "failures": found.failures,
                "remaining_s": round(left),
            }
            for place, (found, _) in list(self.found.items())
            if (place.provider, place.credential) == (provider, credential) and (left := self._left_s(place, key)) > 0
        ]

    def _left_s(self, place: CooldownPlace, key: str) -> float:
        known = self.found.get(place)
        if known is None:
            return 0.0
        found, deadline = known
        if found.key != key:
            self._forget(place)
            return 0.0
        return max(0.0, min(deadline - self._clock.monotonic(), found.since + found.wait_s - self._clock.time()))

    def _keep(self, place: CooldownPlace, cooldown: Cooldown) -> None:
        self.begun += 1
        left_s = min(cooldown.since + cooldown.wait_s - self._clock.time(), cooldown.wait_s)
        self.found.pop(place, None)
        self.found[place] = (cooldown, self._clock.monotonic() + left_s)
        if len(self.found) > COOLDOWNS_LIMIT:
            self._forget(next(iter(self.found)))

    def _forget(self, place: CooldownPlace) -> None:
        del self.found[place]
        self._post(
            lambda connection: connection.execute(
                "DELETE FROM model_cooldowns WHERE provider = ? AND credential = ? AND model = ?",
                (place.provider, place.credential, place.model),
            )
        )

    def _post(self, work: Callable[[SqlConnection], Any]) -> None:
        if self._db is not None:
            self._db.post(work)
