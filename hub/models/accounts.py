"""The credentials of model providers as people manage them: added, tested, removed; and local model servers."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.models.adding import say_hello
from hub.models.contract import AuthError
from hub.models.credential_file import CredentialKind, ModelCredentials, StoredCredential
from hub.models.oauth import OAuthTokens
from hub.models.provider_config import DEFAULT_CREDENTIAL, SETUP_TOKEN_PREFIX
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from hub.models.sign_in import SignIns
from hub.models.vendors import VENDORS

KEY_LIMIT = 4_096
LOCAL_SERVERS = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llama_cpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
"""Where servers of models listen on this machine unless told otherwise."""

_ID = re.compile(r"^[a-z0-9][a-z0-9_-]{0,62}$")


class ModelAccounts:
    """Adds, tests and removes the credentials of providers.

    Args:
        models: The models; it learns of other credentials.
        store: Keeps them.
        clock: The clock of the hub.
        tasks: Owns the sign-ins that wait.
    """

    def __init__(self, models: ModelRegistry, store: ModelCredentials, clock: Clock, tasks: TaskOwner) -> None:
        self._models = models
        self._store = store
        self._signing_in = SignIns(clock, tasks)

    async def close(self) -> None:
        """Cancel pending sign-ins."""
        await self._signing_in.close()

    def all(self) -> list[dict[str, Any]]:
        """Return the added credentials, without their secrets, as plain data."""
        return [each.as_dict() for each in self._store.all()]

    async def add(self, provider: str, id: str, key: str, kind: CredentialKind) -> dict[str, Any]:
        """Add a key or a setup token and test it; one that the provider refuses is not kept.

        Raises:
            InvalidRequest: The key's form is not accepted.
            NotFound: There is no such provider.
            AuthError: The provider refuses it.
        """
        self._check(provider, id)
        key = "".join(key.split()) if kind is CredentialKind.SETUP_TOKEN else key.strip()
        if not key or len(key) > KEY_LIMIT or not key.isascii() or not key.isprintable():
            raise InvalidRequest("Expected a key: printable ASCII in one line.")
        if kind is CredentialKind.SETUP_TOKEN and not key.startswith(SETUP_TOKEN_PREFIX):
            raise InvalidRequest(f"A setup token begins with {SETUP_TOKEN_PREFIX}; `claude setup-token` prints one.")
        return await self._keep(StoredCredential(provider, id, kind, Secret(key)))

    async def remove(self, provider: str, id: str) -> None:
        """Forget a credential that was added.

        Raises:
            NotFound: It does not exist.
        """
        await self._store.remove(provider, id)
        self._models.reread()

    async def login(self, provider: str, id: str) -> dict[str, Any]:
        """Begin a sign-in; return the page to open, its state, and whether the hub receives the callback itself.

        Raises:
            InvalidRequest: The provider has no sign-in.
        """
        self._check(provider, id)
        endpoint = self._models.oauth(provider)
        if endpoint is None:
            raise InvalidRequest(
                f"{provider} has no sign-in; add a key with `homarus models auth add {provider}`, or set "
                f"models.providers.{provider}.oauth."
            )

        async def keep(tokens: OAuthTokens) -> None:
            kind = CredentialKind.OAUTH
            await self._store.put(
                StoredCredential(provider, id, kind, tokens.access, tokens.refresh, tokens.expires, tokens.account)
            )
            self._models.reread()

        pending, listens = await self._signing_in.begin(endpoint, keep)
        return {"url": pending.url, "state": pending.state, "listens": listens, "redirect_url": endpoint.redirect_url}

    async def complete(self, state: str, pasted: str) -> None:
        """Complete a sign-in with the final address of the browser; see `SignIns.complete`."""
        await self._signing_in.complete(state, pasted)

    async def wait(self, state: str, timeout_s: float) -> bool:
        """Return whether a sign-in was completed; see `SignIns.wait`."""
        return await self._signing_in.wait(state, timeout_s)

    async def test(self, ref: str | None) -> list[dict[str, Any]]:
        """Call a model with each of its credentials (without `ref`, the default and fallbacks), and report the results.

        Raises:
            HubError: There is no such model.
        """
        candidates = await self._models.candidates(ref)
        if ref is not None:
            candidates = [each for each in candidates if each.ref == (await self._models.resolve(ref)).ref]
        return list(await asyncio.gather(*(self._tried(each) for each in candidates)))

    async def scan(self, *, local: bool = False) -> dict[str, Any]:
        """Ask each provider for its models, unless `local`, and look for model servers on this machine."""
        listed: dict[str, list[str]] = {}
        if not local:
            self._models.refresh()
            for info in await self._models.list():
                listed.setdefault(info.provider, []).append(info.id)
        problems = self._models.problems()
        running = await asyncio.gather(
            *(self._models.pool.list_models_at(name, url) for name, url in LOCAL_SERVERS.items())
        )
        found_here = [
            {"provider": name, "base_url": url, "models": found}
            for (name, url), found in zip(LOCAL_SERVERS.items(), running, strict=True)
            if found is not None
        ]
        return {"providers": listed, "problems": problems, "local": found_here}

    def _check(self, provider: str, id: str) -> None:
        if provider not in self._models.provider_names and provider not in VENDORS:
            known = ", ".join(sorted({*self._models.provider_names, *VENDORS}))
            raise NotFound(f"There is no provider {provider[:64]!r}; there are {known}.")
        if not _ID.match(id) or id == DEFAULT_CREDENTIAL:
            raise InvalidRequest(
                f"Name the credential with small letters, digits, - and _; {DEFAULT_CREDENTIAL} is api_key."
            )

    async def _keep(self, credential: StoredCredential) -> dict[str, Any]:
        before = [
            each for each in self._store.all() if (each.provider, each.id) == (credential.provider, credential.id)
        ]
        await self._store.put(credential)
        self._models.reread()
        tried = await self.test_credential(credential.provider, credential.id)
        if tried.get("code") == AuthError.code:
            if before:
                await self._store.put(before[0])
            else:
                await self._store.remove(credential.provider, credential.id)
            self._models.reread()
            raise AuthError(f"{credential.provider} refuses this key, and it was not kept: {tried['error']}")
        return {**credential.as_dict(), "test": tried}

    async def test_credential(self, provider: str, id: str) -> dict[str, Any]:
        """Call a provider's default model with one credential, and report the result."""
        try:
            return await self._tried(await self._models.resolve(f"{provider}@{id}"))
        except HubError as error:
            return {"model": None, "credential": id, "ok": False, "error": error.message, "code": error.code}

    async def _tried(self, model: Resolved) -> dict[str, Any]:
        said = await say_hello(model.provider, model.info.id, model.params)
        return {"model": model.ref, "credential": model.credential, **said}
