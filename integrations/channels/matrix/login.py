"""Logging an account in: by its token, or by its password once, whose token and device are then kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.errors import Unavailable
from hub.core.extras import install_command
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from integrations.channels.matrix.answers import REQUEST_S, await_answer, is_signed_out, refusal
from integrations.channels.reconnecting import AccountRefused

if TYPE_CHECKING:
    from nio import AsyncClient

DEVICE_NAME = "Homarus"
_REFUSED = ("M_FORBIDDEN", "M_USER_DEACTIVATED", "M_INVALID_USERNAME")


class MatrixAccount(Struct, frozen=True):
    """An account as it is configured."""

    name: str
    homeserver: str
    user_id: str
    access_token: Secret | None = None
    password: Secret | None = None
    device_id: str | None = None
    encryption: bool = False

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> MatrixAccount:
        """Read a validated section."""
        keys = ("homeserver", "user_id", "access_token", "password", "device_id", "encryption")
        return cls(config["account"], **{key: config[key] for key in keys if key in config})


async def log_in(account: MatrixAccount, kept: JsonStorage, keys: Path) -> AsyncClient:
    """Return a client that is logged in, with its crypto store when encryption is on.

    Args:
        account: The account.
        kept: Stores a login made by password.
        keys: The folder of the crypto stores.

    Raises:
        AccountRefused: The credentials are wrong, or encryption cannot be had.
        Unavailable: The homeserver does not answer.
    """
    client = _client(account, keys)
    try:
        if account.access_token is not None:
            await _by_token(client, account, account.access_token.reveal())
        elif account.password is not None:
            await _by_password(client, account, account.password.reveal(), kept)
    except BaseException:
        await client.close()
        raise
    return client


def _client(account: MatrixAccount, keys: Path) -> AsyncClient:
    from nio import AsyncClientConfig
    from nio.crypto import ENCRYPTION_ENABLED

    from integrations.channels.matrix.client import MatrixClient

    if account.encryption and not ENCRYPTION_ENABLED:
        raise AccountRefused(f"encryption needs packages that are not installed; run: {install_command('matrix')}")
    if account.encryption:
        keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = AsyncClientConfig(
        # The library would wait and try again by itself; here the loop and the outbox decide that.
        max_limit_exceeded=0,
        max_timeouts=0,
        request_timeout=REQUEST_S,
        encryption_enabled=account.encryption,
        store_name=f"keys-{account.name}.db",
    )
    return MatrixClient(account.homeserver, account.user_id, account.device_id, str(keys), config)


async def _by_token(client: AsyncClient, account: MatrixAccount, token: str) -> None:
    user_id, device_id = await _whoami(client, token)
    if user_id != account.user_id:
        raise AccountRefused(f"the access token belongs to {user_id}, not to {account.user_id}")
    if account.device_id not in (None, device_id):
        raise AccountRefused(f"the access token belongs to the device {device_id}, not to {account.device_id}")
    client.restore_login(user_id, device_id, token)


async def _by_password(client: AsyncClient, account: MatrixAccount, password: str, kept: JsonStorage) -> None:
    whose = {"homeserver": account.homeserver, "user_id": account.user_id}
    saved = await kept.load({})
    mine = {key: saved.get(key) for key in whose} == whose and account.device_id in (None, saved.get("device_id"))
    if mine:
        try:
            await _whoami(client, saved["access_token"])
            client.restore_login(account.user_id, saved["device_id"], saved["access_token"])
            return
        except AccountRefused:
            # The login was ended from elsewhere; a new one on the same device keeps its keys.
            client.access_token, client.device_id = "", saved["device_id"]
    login = await _required(client.login(password, device_name=DEVICE_NAME))
    if login.user_id != account.user_id:
        raise AccountRefused(f"the password belongs to {login.user_id}, not to {account.user_id}")
    await kept.save(whose | {"device_id": login.device_id, "access_token": login.access_token})


async def _whoami(client: AsyncClient, token: str) -> tuple[str, str]:
    client.access_token = token
    response = await _required(client.whoami())
    return response.user_id, response.device_id or ""


async def _required(request: Any) -> Any:
    """Return the answer to a request that fails only for wrong credentials."""
    response = await await_answer(request)
    if (error := refusal(response)) is not None:
        if is_signed_out(response) or response.status_code in _REFUSED:
            raise AccountRefused(f"the homeserver refuses the login: {error}")
        raise Unavailable(f"the homeserver cannot log in: {error}")
    return response
