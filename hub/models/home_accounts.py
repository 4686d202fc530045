"""The credentials of a home on which no hub runs, for `homarus models auth`: a new home has none yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.models.accounts import ModelAccounts
from hub.models.credential_file import CredentialKind, ModelCredentials
from hub.models.registry import ModelRegistry
from hub.storage.homedir import Home, restrict_umask


class HomeAccounts:
    """Answers the methods `models.auth.*` as a hub would; a key cannot be tried. To be used as a context manager.

    Args:
        home: The home directory.
        section: Its section `models`.
    """

    def __init__(self, home: Path, section: Mapping[str, Any]) -> None:
        restrict_umask()
        clock, self._tasks = Clock(), TaskOwner("accounts")
        bus = EventBus(self._tasks)
        store = ModelCredentials(Home(home).storage, clock, lambda secret: None)
        store.load()
        self._models = ModelRegistry(section, bus, clock, Repairs(bus), tokens=store)
        self._accounts = ModelAccounts(self._models, store, clock, self._tasks)
        self._loop = asyncio.Runner()

    def __enter__(self) -> HomeAccounts:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run(self._close())
        self._loop.close()

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float = 0.0) -> Any:
        """Answer a method.

        Raises:
            HubError: As the hub would.
        """
        return self._loop.run(_METHODS[method](self._accounts, params or {}))

    async def _close(self) -> None:
        await self._accounts.close()
        await self._models.close()
        await self._tasks.cancel_all()


async def _list(accounts: ModelAccounts, given: Mapping[str, Any]) -> Any:
    return {"credentials": accounts.all()}


async def _add(accounts: ModelAccounts, given: Mapping[str, Any]) -> Any:
    kind = CredentialKind(given["kind"])
    return {"credential": await accounts.add(given["provider"], given["id"], given["key"], kind)}


async def _login(accounts: ModelAccounts, given: Mapping[str, Any]) -> Any:
    return await accounts.login(given["provider"], given["id"])


async def _complete(accounts: ModelAccounts, given: Mapping[str, Any]) -> Any:
    return await accounts.complete(given["state"], given["pasted"])


async def _wait(accounts: ModelAccounts, given: Mapping[str, Any]) -> Any:
    return {"done": await accounts.wait(given["state"], given["timeout_s"])}


_METHODS: Mapping[str, Callable[[ModelAccounts, Mapping[str, Any]], Coroutine[Any, Any, Any]]] = {
    "models.auth.list": _list,
    "models.auth.add": _add,
    "models.auth.login": _login,
    "models.auth.complete": _complete,
    "models.auth.wait": _wait,
}
