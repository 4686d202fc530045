"""The handshake: challenge, `connect`, protocol version, credential, device, and the granted rights."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.context import SCOPES, expand_scopes
from hub.core.errors import Forbidden, HubError, InvalidRequest, LimitExceeded, Unauthorized, Unavailable
from hub.core.phrases import phrase
from hub.core.surfaces import METRICS, Caller
from hub.gateway.access.auth import (
    HUB_CREDENTIAL,
    NO_CREDENTIAL,
    PASSWORD_CREDENTIAL,
    SOCKET_CREDENTIAL,
    Authenticator,
    CallClient,
    Presented,
    WrongCredential,
)
from hub.gateway.access.cross_origin import EXTENSION
from hub.gateway.access.device_grants import Grant
from hub.gateway.access.device_identity import DeviceProof, verify
from hub.gateway.access.devices import Devices
from hub.gateway.access.guarded_socket import HANDSHAKE_LIMIT_S
from hub.gateway.access.ingress import validate
from hub.gateway.access.setup_codes import TAB_PROFILE, SetupCodes
from hub.gateway.calls.json_data import read_json
from hub.gateway.connection.connect_request import CONNECT_SCHEMA, about_client, client_info, signed_client
from hub.gateway.connection.connection import ClientInfo, Connection
from hub.gateway.connection.protocol import (
    CLOSE_POLICY,
    CLOSE_PROTOCOL,
    PROTOCOLS,
    Request,
    decode,
    encode_error,
    encode_event,
)

SHARED = frozenset({HUB_CREDENTIAL, PASSWORD_CREDENTIAL, NO_CREDENTIAL, SOCKET_CREDENTIAL})
"""Credentials that are the owner's own, as opposed to one made for a program."""


class NotPaired(HubError):
    """The device must be approved first."""

    code = "NOT_PAIRED"
    http_status = 403


class _Refused(Exception):
    """The connection is closed: with `error` as the answer when there is one, then with `close_code`."""

    def __init__(self, error: HubError | None, close_code: int = CLOSE_POLICY, reason: str = "") -> None:
        super().__init__(reason)
        self.error = error
        self.close_code = close_code
        self.reason = reason or (error.message if error is not None else "")


class Welcome(Struct, frozen=True):
    """The result of a handshake.

    Attributes:
        request_id: The request to answer with hello-ok.
        protocol: The version agreed on.
        caller: The caller.
        client: What the client reports about itself.
        scopes: Granted, expanded.
        device_token: For a paired device.
        further_tokens: Those of its other roles, for a device that came with a setup code.
        method: The kind of credential, as hello-ok names it.
    """

    request_id: str
    protocol: int
    caller: Caller
    client: ClientInfo
    scopes: frozenset[str]
    device_token: str | None = None
    further_tokens: tuple[Mapping[str, Any], ...] = ()
    method: str = "token"


class _Asked(Struct, frozen=True):
    """A connect request that is well-formed.

    Attributes:
        request: Its frame.
        protocol: The version agreed on.
        client: Its address and origin.
        params: The parameters as `CONNECT_SCHEMA` has validated them.
        said: What the client reports about itself.
    """

    request: Request
    protocol: int
    client: CallClient
    params: Mapping[str, Any]
    said: ClientInfo


class Handshake:
    """Checks the first frame of each WebSocket.

    Args:
        authenticator: Checks credentials.
        clock: Gives the age of signatures.
        starting: Whether the hub is still starting.
    """

    def __init__(self, authenticator: Authenticator, clock: Clock, starting: Callable[[], bool]) -> None:
        self._authenticator = authenticator
        self._clock = clock
        self._starting = starting
        self._devices: Devices | None = None
        self.setup_codes = SetupCodes(clock)
        self.lets_nodes_in: Callable[[CallClient], bool] = lambda _client: False
        """Whether nodes from there are let in without asking, by the configuration."""

    def attach(self, devices: Devices) -> None:
        """Load what needs the open hub database."""
        self._devices = devices

    async def shake(self, connection: Connection, client: CallClient, presented: Presented) -> Welcome | None:
        """Challenge a client and check its answer; None if it was refused and is being closed."""
        nonce = secrets.token_urlsafe(24)
        challenge = {"nonce": nonce, "ts": self._now_ms()}
        connection.send(encode_event("connect.challenge", challenge) + b"}")
        request: Request | None = None
        try:
            async with asyncio.timeout(HANDSHAKE_LIMIT_S):
                request = await _first_request(connection)
                return await self._judge(request, client, presented, nonce)
        except TimeoutError:
            connection.close(CLOSE_POLICY, "handshake timeout")
        except _Refused as refused:
            if refused.error is not None and request is not None:
                connection.send(encode_error(request.id, refused.error))
            connection.close(refused.close_code, refused.reason)
        except HubError as error:
            if request is not None:
                connection.send(encode_error(request.id, error))
            connection.close(CLOSE_POLICY, error.message)
        return None

    async def _judge(self, request: Request, client: CallClient, presented: Presented, nonce: str) -> Welcome:
        if request.method != "connect":
            raise _Refused(InvalidRequest(phrase("the first request must be connect")))
        if self._starting() or self._devices is None:
            raise Unavailable(
                phrase("the hub is still starting"), details={"reason": "startup-sidecars"}, retry_after_s=1.0
            )
        params = validate(read_json(request.params, "connect: the parameters"), CONNECT_SCHEMA, "connect")
        protocol = min(params["maxProtocol"], PROTOCOLS[-1])
        if protocol < max(params["minProtocol"], PROTOCOLS[0]):
            details = {"code": "PROTOCOL_MISMATCH", "expectedProtocol": PROTOCOLS[-1]}
            raise _Refused(
                InvalidRequest(phrase("protocol mismatch"), details=details), CLOSE_PROTOCOL, "protocol mismatch"
            )
        auth = params.get("auth") or {}
        device = params.get("device")
        said = client_info(params)
        asked = _Asked(request, protocol, client, params, said)
        if device is not None:
            proof = DeviceProof(
                device["id"], device["publicKey"], device["signature"], device["signedAt"], device["nonce"]
            )
            verify(proof, signed_client(params, auth), nonce, self._now_ms())
        if device is not None and auth.get("deviceToken") and not (auth.get("token") or auth.get("password")):
            return await self._known_device(asked)
        if device is not None and auth.get("bootstrapToken") and not (auth.get("token") or auth.get("password")):
            return await self._with_setup_code(asked)
        if client.origin == EXTENSION:
            raise Unauthorized(
                phrase("the browser extension connects with a setup code, or the token that it got for one"),
                details={"code": "AUTH_TOKEN_MISSING"},
            )
        paired = device is not None and self._grant_of(asked) is not None
        caller = await self._credential(client, auth, presented, paired=paired)
        if caller.authority.scopes == {METRICS}:
            raise Forbidden(
                phrase("this token reads /metrics and nothing else; connect with one that has another scope")
            )
        if device is not None:
            return await self._with_device(asked, caller)
        if said.role == "node":
            raise NotPaired(phrase("a node must show a device identity"), details={"code": "DEVICE_IDENTITY_REQUIRED"})
        granted = _without_device(params["scopes"], caller, client)
        return Welcome(request.id, protocol, _narrowed(caller, granted), said, granted)

    async def _credential(
        self, client: CallClient, auth: Mapping[str, Any], presented: Presented, *, paired: bool
    ) -> Caller:
        authenticator = self._authenticator
        secret, kind = auth.get("token") or presented.bearer, "TOKEN"
        if not secret and auth.get("password"):
            secret, kind = auth["password"], "PASSWORD"
        bootstrap = auth.get("bootstrapToken") or auth.get("deviceToken")
        if not secret and bootstrap:
            secret = bootstrap
        try:
            if secret and not authenticator.is_local_hub_token(client, secret):
                authenticator.reserve(client)
            if not secret:
                return await authenticator.authenticate(client, replace(presented, bearer=None, cookie=None))
            if kind == "PASSWORD":
                return await authenticator.check_password(secret, client)
            return await authenticator.check_secret(secret, client)
        except LimitExceeded as error:
            error.details |= {"code": "AUTH_RATE_LIMITED", "canRetryWithDeviceToken": False}
            error.details["recommendedNextStep"] = "wait_then_retry"
            raise
        except Unauthorized as error:
            error.details.setdefault("code", f"AUTH_{kind}_MISMATCH" if secret else "AUTH_TOKEN_MISSING")
            error.details["canRetryWithDeviceToken"] = paired
            error.details["recommendedNextStep"] = (
                "retry_with_device_token"
                if paired
                else "update_auth_credentials"
                if secret
                else "provide_auth_credentials"
            )
            raise

    async def _known_device(self, asked: _Asked) -> Welcome:
        devices = self._devices_now()
        grant = self._grant_of(asked)
        self._authenticator.reserve(asked.client)
        if grant is None or not devices.is_token_of(asked.params["auth"]["deviceToken"], grant):
            raise Unauthorized(
                "the device token is not valid or was revoked; pair the device again",
                details={
                    "code": "AUTH_TOKEN_MISMATCH",
                    "canRetryWithDeviceToken": False,
                    "recommendedNextStep": "update_auth_credentials",
                },
            )
        self._authenticator.succeed(asked.client)
        if not _covers(grant, asked.params["scopes"]):
            await self._ask(asked, frozenset({grant.link, *grant.made_by}))
        return replace(self._welcome_device(asked, grant), method="device-token")

    async def _with_setup_code(self, asked: _Asked) -> Welcome:
        """Pair a device, in all roles of its setup code, and give it a token for each."""
        devices, said = self._devices_now(), asked.said
        self._authenticator.reserve(asked.client)
        try:
            code = self.setup_codes.take(asked.params["auth"]["bootstrapToken"])
            if asked.client.origin == EXTENSION and code.profile != TAB_PROFILE:
                raise WrongCredential(
                    phrase("this setup code gives more than a tab needs; make one: homarus browser extension pair"),
                    details={"code": "AUTH_BOOTSTRAP_TOKEN_INVALID"},
                )
            if said.role not in code.roles or not self._authenticator.all_valid(code.made_by):
                raise WrongCredential(
                    phrase("this setup code lets no device in as {role}", role=said.role),
                    details={"code": "AUTH_BOOTSTRAP_TOKEN_INVALID"},
                )
        except WrongCredential as error:
            error.details |= {"canRetryWithDeviceToken": False, "recommendedNextStep": "update_auth_credentials"}
            raise
        self._authenticator.succeed(asked.client)
        grants = {
            role: await devices.admit(
                said.device_id or "",
                asked.params["device"]["publicKey"],
                role,
                scopes,
                about_client(said) | {"approvedVia": "bootstrap"},
                owner=code.owner,
                made_by=code.made_by,
            )
            for role, scopes in code.roles.items()
        }
        completed = self.setup_codes.complete(code, said.device_id or "", said.display_name or said.id)
        devices.announce_setup(completed)
        welcome = self._welcome_device(asked, grants.pop(said.role))
        further = tuple(
            {
                "deviceToken": devices.token(grant),
                "role": grant.role,
                "scopes": list(grant.scopes),
                "issuedAtMs": self._now_ms(),
            }
            for grant in grants.values()
        )
        return replace(welcome, further_tokens=further, method="bootstrap-token")

    async def _with_device(self, asked: _Asked, caller: Caller) -> Welcome:
        devices, said, params = self._devices_now(), asked.said, asked.params
        grant = self._grant_of(asked)
        if grant is None or not _covers(grant, params["scopes"]):
            by_owner = caller.credential_id in SHARED and asked.client.local
            wanted = () if said.role == "node" else _known_scopes(params["scopes"])
            known = by_owner or (said.role == "node" and self.lets_nodes_in(asked.client))
            if not known or not set(wanted) <= caller.authority.scopes:
                await self._ask(asked, self._authenticator.links(caller))
            if grant is not None:
                wanted = tuple({*wanted, *grant.scopes})
            grant = await devices.admit(
                said.device_id or "",
                params["device"]["publicKey"],
                said.role,
                wanted,
                about_client(said),
                owner=caller.authority.person if by_owner else None,
                made_by=frozenset() if by_owner else self._authenticator.links(caller),
            )
        return self._welcome_device(asked, await devices.refresh(grant), caller)

    def _grant_of(self, asked: _Asked) -> Grant | None:
        """Return the device's grant in its role, unless a credential it was paired with has ended."""
        grant = self._devices_now().grant(asked.said.device_id or "", asked.said.role)
        return grant if grant is not None and self._authenticator.all_valid(grant.made_by) else None

    def _welcome_device(self, asked: _Asked, grant: Grant, beside: Caller | None = None) -> Welcome:
        """Welcome a device that came with its own token, or `beside` another credential that bounds it.

        Its own token is returned only beside a credential that may do as much.
        """
        devices = self._devices_now()
        devices.note_used(grant)
        approved = expand_scopes(grant.scopes)
        scopes = frozenset() if asked.said.role == "node" else expand_scopes(asked.params["scopes"]) & approved
        authority, came_from = self._authenticator.device_authority(grant), grant.made_by
        scopes &= authority.scopes
        if beside is not None:
            scopes &= beside.authority.scopes
            if not beside.authority.owner:
                authority = replace(authority, person=None, owner=False)
            came_from |= {*beside.came_from, *(self._authenticator.links(beside) or {beside.credential_id})}
        caller = Caller(
            authority.narrow(scopes=scopes), grant.credential_id, asked.client.address, asked.client.local, came_from
        )
        whole = beside is None or approved <= beside.authority.scopes
        token = devices.token(grant) if whole else None
        return Welcome(asked.request.id, asked.protocol, caller, asked.said, scopes, token)

    async def _ask(self, asked: _Asked, brought_by: frozenset[str]) -> None:
        said = asked.said
        request = await self._devices_now().ask(
            said.device_id or "",
            asked.params["device"]["publicKey"],
            said.role,
            _known_scopes(asked.params["scopes"]),
            about_client(said),
            asked.client.address,
            brought_by,
        )
        raise NotPaired(
            phrase("this device must be approved first: `homarus devices approve`, or the dashboard"),
            details={"code": "PAIRING_REQUIRED", "requestId": request.id},
        )

    def _devices_now(self) -> Devices:
        if self._devices is None:
            raise Unavailable(phrase("the hub is still starting"), retry_after_s=1.0)
        return self._devices

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


async def _first_request(connection: Connection) -> Request:
    while True:
        message = await connection.ws.receive()
        if message.type not in (web.WSMsgType.TEXT, web.WSMsgType.BINARY):
            raise _Refused(None, reason="no handshake")
        try:
            frame = decode(message.data)
        except InvalidRequest as error:
            raise _Refused(None, reason=error.message[:100]) from None
        if isinstance(frame, Request):
            return frame
        raise _Refused(None, reason="the first frame must be a connect request")


def _without_device(requested: list[str], caller: Caller, client: CallClient) -> frozenset[str]:
    """Return the scopes of an operator without a device: with the owner's secret, only on direct loopback."""
    if caller.credential_id in SHARED and not client.local:
        return frozenset()
    return expand_scopes(requested) & caller.authority.scopes


def _narrowed(caller: Caller, scopes: frozenset[str]) -> Caller:
    return replace(caller, authority=caller.authority.narrow(scopes=scopes))


def _covers(grant: Grant, requested: list[str]) -> bool:
    return grant.role == "node" or set(_known_scopes(requested)) <= expand_scopes(grant.scopes)


def _known_scopes(requested: list[str]) -> tuple[str, ...]:
    return tuple(sorted(SCOPES.intersection(requested)))
