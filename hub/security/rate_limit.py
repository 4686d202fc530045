"""Rate limits: how often a client may try a credential."""

from __future__ import annotations

from collections import OrderedDict, deque
from ipaddress import IPv4Address, IPv6Address, ip_address

from hub.core.clock import Clock
from hub.core.errors import LimitExceeded

CLIENT_LIMIT = 10_000
CLIENT_NAME_LIMIT = 128
IPV6_PREFIX_BITS = 64
IPV6_SITE_BITS = 48
"""What one customer of a provider has: 65 536 networks, each of which is counted apart otherwise."""
SITE_ATTEMPTS = 30
ALL_ATTEMPTS = 100
KNOWN_LIMIT = 256


class TooManyAttempts(LimitExceeded):
    """A client failed too often and is locked out for a while."""


class _Record:
    __slots__ = ("attempts", "locked_until_s")

    def __init__(self) -> None:
        self.attempts: deque[float] = deque()
        self.locked_until_s = 0.0


class AttemptLimiter:
    """Counts an attempt before its credential is checked, so that concurrent attempts gain nothing.

    Args:
        clock: Its monotonic side is used: no jump of the wall clock shortens or prolongs a lock.
        attempts: Failures within the window after which a client is locked.
        window_s: Seconds.
        lock_s: Seconds.
        told: The refusal, followed by when to try again.
    """

    def __init__(
        self,
        clock: Clock,
        attempts: int = 10,
        window_s: float = 60,
        lock_s: float = 300,
        *,
        told: str = "too many failed attempts from this address",
    ) -> None:
        self._clock = clock
        self._told = told
        self._attempts = attempts
        self._window_s = window_s
        self._lock_s = lock_s
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def reserve(self, client: str) -> None:
        """Count an attempt of `client` (an address) as failed until `succeed` says otherwise.

        Raises:
            TooManyAttempts: It is locked; `retry_after_s` says for how long.
        """
        now = self._clock.monotonic()
        record = self._record(client_key(client))
        if now < record.locked_until_s:
            raise self._refusal(record.locked_until_s - now)
        while record.attempts and record.attempts[0] <= now - self._window_s:
            record.attempts.popleft()
        if len(record.attempts) >= self._attempts:
            record.locked_until_s = now + self._lock_s
            record.attempts.clear()
            raise self._refusal(self._lock_s)
        record.attempts.append(now)

    def succeed(self, client: str) -> None:
        """Give back the last attempt of `client`: its credential was right. Its failures stay counted."""
        record = self._records.get(client_key(client))
        if record is not None and record.attempts:
            record.attempts.pop()

    def check(self, client: str) -> None:
        """Refuse a locked client without counting anything.

        Raises:
            TooManyAttempts: It is locked.
        """
        record = self._records.get(client_key(client))
        now = self._clock.monotonic()
        if record is not None and now < record.locked_until_s:
            raise self._refusal(record.locked_until_s - now)

    def locked_clients(self) -> list[str]:
        """Return the clients that are locked now."""
        now = self._clock.monotonic()
        return [key for key, record in self._records.items() if now < record.locked_until_s]

    def _record(self, key: str) -> _Record:
        record = self._records.get(key)
        if record is None:
            if len(self._records) >= CLIENT_LIMIT:
                self._make_room()
            record = self._records[key] = _Record()
        else:
            self._records.move_to_end(key)
        return record

    def _make_room(self) -> None:
        """Evict the longest idle client, locked ones last."""
        now = self._clock.monotonic()
        for key, record in self._records.items():
            if now >= record.locked_until_s:
                del self._records[key]
                return
        self._records.popitem(last=False)

    def _refusal(self, left_s: float) -> TooManyAttempts:
        return TooManyAttempts(f"{self._told}; try again in {max(1, round(left_s))} s", retry_after_s=left_s)


class PasswordLimiter:
    """Counts guesses at the one password over many addresses: per IPv6 /48, and over all of them.

    An address from which the password was right before is bounded by its own attempts alone, so that guesses from
    elsewhere do not lock its owner out; so is whoever is local. Sign-ins that are in force, tokens and the Unix socket
    are not counted here at all.
    """

    def __init__(self, clock: Clock, site_attempts: int = SITE_ATTEMPTS, all_attempts: int = ALL_ATTEMPTS) -> None:
        self._sites = AttemptLimiter(clock, site_attempts, told="too many wrong passwords from this network")
        self._all = AttemptLimiter(
            clock,
            all_attempts,
            told="too many wrong passwords from everywhere; on the hub's machine `homarus dashboard` signs in",
        )
        self._known: OrderedDict[str, None] = OrderedDict()

    def reserve(self, address: str) -> None:
        """Count a guess from an address as failed until `succeed` says otherwise.

        Raises:
            TooManyAttempts: Too many failures.
        """
        if client_key(address) in self._known:
            return
        self._sites.reserve(_site(address))
        self._all.reserve("all")

    def succeed(self, address: str) -> None:
        """Take back the last guess: it was right."""
        key = client_key(address)
        if key not in self._known:
            self._sites.succeed(_site(address))
            self._all.succeed("all")
        self._known[key] = None
        self._known.move_to_end(key)
        if len(self._known) > KNOWN_LIMIT:
            self._known.popitem(last=False)


def _site(client: str) -> str:
    """Return the /48 of an IPv6 address; an IPv4 address is its own site."""
    key = client_key(client)
    address, separator, _ = key.partition("/")
    if not separator:
        return key
    first = int(IPv6Address(address)) >> (128 - IPV6_SITE_BITS) << (128 - IPV6_SITE_BITS)
    return f"{IPv6Address(first)}/{IPV6_SITE_BITS}"


def client_key(client: str) -> str:
    """Return the counting key of a client: its IPv4 address, or the /64 of its IPv6 address.

    A word and a colon before the address (`browser:192.0.2.1`) stay there, and are counted apart.
    """
    name = client[:CLIENT_NAME_LIMIT]
    kind, separator, rest = name.partition(":")
    for prefix, text in (("", name), (kind + separator, rest)):
        try:
            address = ip_address(text.partition("%")[0].strip("[]"))
        except ValueError:
            continue
        return prefix + _network(address)
    return name


def _network(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    first = int(address) >> (128 - IPV6_PREFIX_BITS) << (128 - IPV6_PREFIX_BITS)
    return f"{IPv6Address(first)}/{IPV6_PREFIX_BITS}"
