"""Authentication of callers: hub token, scoped tokens, device tokens, passwords, dashboard cookies, trusted proxies.

Every way in is judged here and nowhere else: HTTP requests through `authenticate`, the first frame of a WebSocket
through `check_secret` and `check_password`. An attempt is reserved before the credential is checked.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import SCOPES, Authority, expand_scopes
from hub.core.errors import LimitExceeded, Unauthorized
from hub.core.executors import PASSWORDS
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.surfaces import Caller
from hub.gateway.access.device_grants import Grant
from hub.gateway.access.devices import Devices
from hub.gateway.calls.settings import AuthMode, HttpSettings
from hub.security.passwords import verify_password
from hub.security.people import People
from hub.security.rate_limit import AttemptLimiter, PasswordLimiter, client_key
from hub.security.tokens import Token, TokenStore
from hub.security.web_sessions import WebSessions

CREDENTIAL_LIMIT = 512
"""Characters; anything longer is not a credential of ours and is not hashed."""
HUB_CREDENTIAL = "hub"
PASSWORD_CREDENTIAL = "password"  # noqa: S105  the name of a credential
NO_CREDENTIAL = "none"
SOCKET_CREDENTIAL = "socket"
PROXY_SECRET_HEADER = "X-Homarus-Proxy-Secret"  # noqa: S105  the name of a header
COOKIE_PREFIX = "homarus_"
MADE_KINDS = ("token", "device")
"""Kinds of credentials that are made for programs and devices; what is made with one depends on it."""
KEY_HEADER = "x-api-key"
"""Where clients of Anthropic's API send their key."""
BEARER_PROTOCOL = "homarus.bearer."
"""What a browser offers as a subprotocol, with its token behind it: its WebSockets send no header of their own."""
CHALLENGE = 'Bearer realm="homarus"'


class CallClient(Struct, frozen=True):
    """Where a request comes from.

    Attributes:
        address: The client, after trusted proxies were taken into account.
        local: Direct loopback: no forwarding header, a loopback Host, Origin absent or same.
        origin: The Origin header.
        same_origin: Whether it is there and our own.
        fetched_same_origin: Whether the browser says so in Sec-Fetch-Site.
        scheme: The scheme as the browser used it.
        by_trusted_proxy: Whether the peer is one of `http.trusted_proxies`.
        by_proxy_socket: Whether it came over the Unix socket of the trusted proxy.
        by_browser: Whether a browser sent it, by its headers.
        unix: Whether it came directly over the hub's Unix socket, from a process of the hub's own user.
    """

    address: str
    local: bool
    origin: str | None
    same_origin: bool
    fetched_same_origin: bool
    scheme: str
    by_trusted_proxy: bool
    by_browser: bool = False
    unix: bool = False
    by_proxy_socket: bool = False

    @property
    def from_own_page(self) -> bool:
        """Whether a browser says that a page of this hub sent it."""
        return self.same_origin or (self.origin is None and self.fetched_same_origin)

    @property
    def limiter_key(self) -> str:
        """The key under which attempts are counted together."""
        return self.address


class Presented(Struct, frozen=True):
    """The credentials a request carries, unjudged."""

    bearer: str | None = None
    cookie: str | None = None
    user: str | None = None
    proxy_secret: str | None = None


class WrongCredential(Unauthorized):
    """A credential was presented and it is not valid; `details.code` is the protocol's word for it."""


class Authenticator:
    """Knows every kind of credential.

    Args:
        settings: The present auth mode.
        people: The people, with the owner.
        hub_token: The token that has every right on loopback.
        limiter: Counts failures per client.
        passwords: Counts guesses at the password over all clients.
    """

    def __init__(
        self,
        settings: HttpSettings,
        people: People,
        hub_token: Secret,
        limiter: AttemptLimiter,
        passwords: PasswordLimiter,
    ) -> None:
        self._settings = settings
        self.people = people
        self._hub_digest = _digest(hub_token.reveal())
        self.attempts = limiter
        self._passwords = passwords
        self._tokens: TokenStore | None = None
        self._web_sessions: WebSessions | None = None
        self._devices: Devices | None = None
        self.cookie_name = f"{COOKIE_PREFIX}{settings.port}"

    @property
    def mode(self) -> AuthMode:
        """How people and programs authenticate."""
        return self._settings.mode

    def attach(self, tokens: TokenStore, web_sessions: WebSessions, devices: Devices | None = None) -> None:
        """Load what needs the open hub database."""
        self._tokens = tokens
        self._web_sessions = web_sessions
        self._devices = devices or self._devices

    def set_port(self, port: int) -> None:
        """Name the cookie after the port that was bound; browsers keep no cookies apart by port."""
        self.cookie_name = f"{COOKIE_PREFIX}{port}"

    def extract_credentials(self, request: web.Request, *, with_cookie: bool) -> Presented:
        """Extract the credentials from a request."""
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        bearer = bearer.strip() if scheme.lower() == "bearer" else request.headers.get(KEY_HEADER, "").strip()
        bearer = bearer or offered_token(request.headers.get("Sec-WebSocket-Protocol", ""))
        cookie = request.cookies.get(self.cookie_name) if with_cookie and "Cookie" in request.headers else None
        user = request.headers.get(self._settings.user_header) if self.mode is AuthMode.TRUSTED_PROXY else None
        proxy_secret = request.headers.get(PROXY_SECRET_HEADER) if user else None
        return Presented(bearer or None, cookie or None, user or None, proxy_secret)

    def judge_rate(self, client: CallClient, presented: Presented) -> None:
        """Refuse a locked-out client that presents a secret, before anything else is checked.

        The hub token itself is never locked out on its own machine: 256 bits are not guessed.

        Raises:
            LimitExceeded: This client failed too often; `retry_after_s` says when to try again.
        """
        if presented.bearer is not None and not self.is_local_hub_token(client, presented.bearer):
            self.attempts.check(client.limiter_key)

    def is_local_hub_token(self, client: CallClient, plain: str | None) -> bool:
        """Whether this is the hub token, on the hub's own machine."""
        return plain is not None and client.local and self._is_hub_token(plain)

    async def authenticate(self, client: CallClient, presented: Presented) -> Caller:
        """Return who is calling.

        Raises:
            Unauthorized: There is no valid credential.
            LimitExceeded: Too many failures.
        """
        if client.unix and presented.bearer is None:
            return self._owner(SOCKET_CREDENTIAL, client)
        if self.mode is AuthMode.NONE and client.local:
            return self._owner(NO_CREDENTIAL, client)
        if presented.bearer is not None:
            if not self.is_local_hub_token(client, presented.bearer):
                self.reserve(client)
            return await self.check_secret(presented.bearer, client)
        if presented.cookie is not None:
            return self._check_cookie(presented.cookie, client)
        if presented.user is not None:
            self.reserve(client)
            return self._good(self._check_proxy_user(presented.user, presented.proxy_secret, client), client)
        raise Unauthorized(phrase("this needs a credential: sign in, or send a token as `Authorization: Bearer TOKEN`"))

    async def try_authenticate(self, client: CallClient, presented: Presented) -> Caller | None:
        """Return the caller of a public route, or None; secrets in the headers are not checked there."""
        try:
            return await self.authenticate(client, replace(presented, bearer=None))
        except (Unauthorized, LimitExceeded):
            return None

    async def check_secret(self, plain: str, client: CallClient) -> Caller:
        """Return the holder of a bearer secret: hub token, scoped token, device token, or the password.

        The attempt was reserved, unless it is the hub token on its own machine; it is given back when it was good.

        Raises:
            WrongCredential: It is none of them.
        """
        if len(plain) > CREDENTIAL_LIMIT:
            raise WrongCredential(
                phrase("this is not a credential of this hub"), details={"code": "AUTH_TOKEN_MISMATCH"}
            )
        is_hub_token = self._is_hub_token(plain)
        if is_hub_token and client.local:
            return self._owner(HUB_CREDENTIAL, client)
        if is_hub_token:
            raise WrongCredential(
                phrase(
                    "the hub token works only on the hub's own machine; make one for other machines and programs "
                    "with `homarus token create`"
                ),
                details={"code": "AUTH_TOKEN_MISMATCH"},
            )
        caller = self._check_token(plain, client) or self._check_device_token(plain, client)
        if caller is None and await self._is_password(plain, client):
            caller = self._owner(PASSWORD_CREDENTIAL, client)
        if caller is None:
            raise WrongCredential(
                phrase("this token is not valid or was revoked; make another: homarus token create"),
                details={"code": "AUTH_TOKEN_MISMATCH"},
            )
        return self._good(caller, client)

    async def check_password(self, plain: str, client: CallClient) -> Caller:
        """Return the owner if the password is right; the reserved attempt is then given back.

        Raises:
            WrongCredential: It is not, or there is none.
        """
        if len(plain) > CREDENTIAL_LIMIT or not await self._is_password(plain, client):
            raise WrongCredential(phrase("the password is wrong"), details={"code": "AUTH_PASSWORD_MISMATCH"})
        return self._good(self._owner(PASSWORD_CREDENTIAL, client), client)

    def still_valid(self, link: str) -> bool:
        """Whether a once valid credential has not been revoked, replaced or ended since."""
        credential_id, _, generation = link.partition("@")
        kind, _, id = credential_id.partition(":")
        if kind == "cookie":
            return self._web_sessions is not None and self._web_sessions.is_valid(id)
        if kind not in MADE_KINDS:
            return True
        if kind == "token" and (self._tokens is None or not self._tokens.is_valid(id)):
            return False
        now = self._generation(credential_id)
        return now is not None and generation in ("", str(now))

    def all_valid(self, links: Iterable[str]) -> bool:
        """Whether all of some credentials are still valid."""
        return all(map(self.still_valid, links))

    def links(self, caller: Caller) -> frozenset[str]:
        """Return the credentials that a credential made by this caller depends on; empty for the owner."""
        if caller.credential_id.partition(":")[0] in MADE_KINDS:
            own = f"{caller.credential_id}@{self._generation(caller.credential_id) or 0}"
            return frozenset({own, *caller.came_from})
        return caller.came_from

    def device_authority(self, grant: Grant) -> Authority:
        """Return the operator rights of a device: those of the owner who approved it, while they are one."""
        authority = Authority(
            f"device:{grant.device_id}", grant.owner, expand_scopes(grant.scopes), owner=grant.owner is not None
        )
        return self.people.with_present_rights(authority)

    def authority_of(self, principal: str) -> Authority:
        """Return the present rights of a principal whose credential is still valid; none for an unknown one."""
        kind, _, id = principal.partition(":")
        if principal == "owner":
            return self.people.owner_authority()
        if kind == "person":
            return self.people.with_present_rights(Authority(principal, id, SCOPES, owner=True))
        token = self._tokens.get(id) if kind == "token" and self._tokens is not None else None
        if token is not None:
            return self._token_authority(token)
        grant = self._devices.grant(id, "operator") if kind == "device" and self._devices is not None else None
        return Authority(principal) if grant is None else self.device_authority(grant)

    def links_of(self, principal: str) -> frozenset[str]:
        """Return the token or device that a principal's creations depend on; empty for anybody else."""
        kind, _, id = principal.partition(":")
        if kind == "token":
            token = self._tokens.get(id) if self._tokens is not None else None
            return frozenset({f"{principal}@{token.generation}", *token.made_by} if token is not None else {principal})
        if kind != "device" or self._devices is None:
            return frozenset()
        grants = [each for each in self._devices.grants() if each.device_id == id]
        return frozenset().union(*({each.link, *each.made_by} for each in grants)) or frozenset({principal})

    def _generation(self, credential_id: str) -> int | None:
        kind, _, id = credential_id.partition(":")
        if kind == "token":
            token = self._tokens.get(id) if self._tokens is not None else None
            return token.generation if token is not None else None
        device, _, role = id.rpartition("/")
        grant = self._devices.grant(device, role) if self._devices is not None else None
        return grant.generation if grant is not None else None

    def reserve(self, client: CallClient, kind: str = "") -> None:
        """Count an attempt before the secret is checked.

        Args:
            kind: What is counted apart: a program with an old token does not lock out its neighbour's sign-in codes.

        Raises:
            LimitExceeded: Too many failures.
        """
        self.attempts.reserve(kind + client.limiter_key)

    def succeed(self, client: CallClient, kind: str = "") -> None:
        """Give back a reserved attempt that succeeded."""
        self.attempts.succeed(kind + client.limiter_key)

    def _check_token(self, plain: str, client: CallClient) -> Caller | None:
        token = self._tokens.verify(plain) if self._tokens is not None else None
        if token is None or not self.all_valid(token.made_by):
            return None
        authority = self._token_authority(token)
        return Caller(authority, token.credential_id, client.address, client.local, token.made_by)

    def _check_device_token(self, plain: str, client: CallClient) -> Caller | None:
        grant = self._devices.verify_token(plain) if self._devices is not None else None
        if grant is None or not self.all_valid(grant.made_by):
            return None
        authority = self.device_authority(grant)
        if not authority.has("operator.admin"):  # its token without its key acts for an owner only where it must
            authority = replace(authority, person=None, owner=False)
        return Caller(authority, grant.credential_id, client.address, client.local, grant.made_by)

    def _check_cookie(self, plain: str, client: CallClient) -> Caller:
        """Return the caller of a cookie.

        A tab that was signed out asks again and again; its old cookie locks neither the way in nor a new cookie.
        """
        session = self._web_sessions.verify(plain) if self._web_sessions is not None else None
        if session is None:
            self.attempts.reserve(f"cookie:{client_key(client.address)}")
            raise WrongCredential(phrase("you are signed out; sign in again"))
        scopes = expand_scopes(session.scopes)
        authority = self.people.owner_authority().narrow(scopes=scopes, owner="operator.admin" in scopes)
        return Caller(authority, f"cookie:{session.id}", client.address, client.local)

    def _check_proxy_user(self, user: str, proxy_secret: str | None, client: CallClient) -> Caller:
        if not client.by_trusted_proxy:
            raise WrongCredential(phrase("only a trusted proxy may name the person"))
        if not client.by_proxy_socket and not self._is_proxy_secret(proxy_secret or ""):
            raise WrongCredential(
                phrase("the proxy must send `http: auth: proxy_secret:` in {header}", header=PROXY_SECRET_HEADER)
            )
        person = self.people.by_id(user)
        if person is None or not person.owner:
            raise WrongCredential(phrase("{text} is not an owner in `people:`", text=repr(user[:64])))
        authority = Authority(f"person:{person.id}", person.id, SCOPES, owner=True)
        return Caller(authority, f"proxy:{person.id}", client.address, local=False)

    def _token_authority(self, token: Token) -> Authority:
        scopes = expand_scopes(token.scopes)
        owner = "operator.admin" in scopes
        person = self.people.owners()[0].id if owner else None
        return Authority(token.credential_id, person, scopes, owner=owner)

    def _owner(self, credential_id: str, client: CallClient) -> Caller:
        return Caller(self.people.owner_authority(), credential_id, client.address, client.local)

    def _good(self, caller: Caller, client: CallClient) -> Caller:
        self.attempts.succeed(client.limiter_key)
        return caller

    def _is_hub_token(self, plain: str) -> bool:
        return hmac.compare_digest(_digest(plain), self._hub_digest)

    def _is_proxy_secret(self, plain: str) -> bool:
        expected = self._settings.proxy_secret
        return expected is not None and hmac.compare_digest(_digest(plain), _digest(expected.reveal()))

    async def _is_password(self, plain: str, client: CallClient) -> bool:
        if self.mode is not AuthMode.PASSWORD or self._settings.password is None:
            return False
        if not client.local:
            self._passwords.reserve(client.address)
        right = await PASSWORDS.run(verify_password, self._settings.password, plain)
        if right and not client.local:
            self._passwords.succeed(client.address)
        return right


def is_ambient(caller: Caller, client: CallClient) -> bool:
    """Whether a browser may have sent the identity by itself, for a page of another site."""
    kind = caller.credential_id.partition(":")[0]
    return kind in ("cookie", "proxy") or (kind == NO_CREDENTIAL and client.by_browser)


def offered_token(protocols: str) -> str:
    """Return the token among the subprotocols that a WebSocket offers, or nothing."""
    offered = (each.strip() for each in protocols.split(","))
    return next((each.removeprefix(BEARER_PROTOCOL) for each in offered if each.startswith(BEARER_PROTOCOL)), "")


def _digest(plain: str) -> bytes:
    return sha256(plain.encode("utf-8", "surrogatepass")).digest()
