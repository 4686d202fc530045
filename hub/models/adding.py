"""Adding a provider of models: its models are listed and tried before anything is written; it is never left broken."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hub.config.files import SECRETS_FILE
from hub.config.files_editor import REMOVED, FilesEditor
from hub.config.paths import KeyPath
from hub.config.spans import Tagged
from hub.config.store import ConfigStore, ReloadResult
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound, Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.models.contract import (
    AUTO,
    ModelEvent,
    ModelProvider,
    ModelRequest,
    ModelTimeout,
    TextDelta,
    UsageEvent,
    user_message,
)
from hub.models.provider_config import ProviderConfig
from hub.models.registry import ModelRegistry
from hub.models.vendors import VENDORS, api_of

CONNECT_LIMIT_S = 10.0
HELLO_LIMIT_S = 30.0
HELLO_TOKENS = 256
TEXT_LIMIT = 500
OWN_SERVER = "my_server"

Apply = Callable[[ReloadResult], Awaitable[None]]


class NewProvider(Struct, frozen=True):
    """A requested provider.

    Attributes:
        name: A vendor of the table, or the name of your own server.
        base_url: Its address; empty for a vendor's own.
        key: Its key; empty when it needs none, or has one already.
        model: The id of the model to use.
        context_window: Tokens of that model, when known.
    """

    name: str
    base_url: str = ""
    key: str = ""
    model: str = ""
    context_window: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Its configuration without the key."""
        vendor = VENDORS.get(self.name)
        if vendor is not None and self.base_url in ("", vendor.base_url):
            return {}
        window = {} if self.context_window is None else {"context_window": self.context_window}
        return {"base_url": self.base_url, "models": [{"id": self.model, **window}]}


def write_provider(editor: FilesEditor, provider: NewProvider) -> None:
    """Write a provider into the configuration, and its key into secrets.yaml.

    Raises:
        ConfigInvalid: The configuration would not be valid; it is as before.
    """
    keys, settings = ("models", "providers", provider.name), provider.settings
    try:
        known = editor.get_value(keys) or {}
    except NotFound:
        known = {}
    before = None
    if provider.key:
        secret = f"{provider.name}_key"
        before = editor.set_secrets({secret: provider.key})
        settings = {**settings, "api_key": Tagged("!secret", secret)}
    try:
        if not known:
            editor.set_value(keys, settings)
            return
        others = [each for each in known.get("models") or () if provider.model not in (each, _id(each))]
        if "models" in settings and others:
            settings["models"] = [*settings["models"], *others]
        for key, value in settings.items():
            editor.set_value((*keys, key), value)
    except HubError:
        if before is not None:
            editor.put_back_secrets(before)
        raise


class NewProviders:
    """Connects to providers that are not configured yet, tries their models, and adds those that work.

    Args:
        config: The configuration, where they are written.
        models: The configured models, and the integration of each API.
        apply: Puts a changed configuration into force.
    """

    def __init__(self, config: ConfigStore, models: ModelRegistry, apply: Apply) -> None:
        self._config = config
        self._models = models
        self._apply = apply
        self._changing = asyncio.Lock()

    async def connect(self, provider: NewProvider) -> dict[str, Any]:
        """Ask a provider for its models.

        Returns:
            `base_url` as it works, the ids of the `models`, and `duration_ms`; without `models` the provider's API
            cannot be asked before it is set up.

        Raises:
            AuthError: It requires another key.
            Unavailable: It does not answer.
        """
        begun = time.monotonic()
        failed: HubError | None = None
        for base_url in _addresses(provider.base_url):
            config = self._config_of(replace(provider, base_url=base_url))
            if (made := self._made(config)) is None:
                vendor = VENDORS.get(provider.name)
                known = [vendor.default_model] if vendor is not None and vendor.default_model else []
                return {"base_url": base_url, "models": known, "duration_ms": None}
            try:
                async with asyncio.timeout(CONNECT_LIMIT_S):
                    found = [info.id for info in await made.models() if "embed" not in info.id]
            except TimeoutError:
                failed = Unavailable(f"{base_url or provider.name} did not answer within {CONNECT_LIMIT_S:g} s.")
            except HubError as error:
                failed = error if failed is None else failed
            else:
                took_ms = round((time.monotonic() - begun) * 1_000)
                return {"base_url": base_url, "models": found, "duration_ms": took_ms}
            finally:
                await made.close()
        raise failed or InvalidRequest("base_url: expected an address such as http://127.0.0.1:8000/v1")

    async def hello(self, provider: NewProvider) -> dict[str, Any]:
        """Say hello to a model of a provider that is not configured yet; see `say_hello`.

        Raises:
            Unavailable: Its API is spoken by an integration that is set up with the provider only.
        """
        made = self._made(self._config_of(provider))
        if made is None:
            raise Unavailable(f"{provider.name} can be tried once it is added.")
        try:
            return await say_hello(made, provider.model)
        finally:
            await made.close()

    async def add(self, provider: NewProvider, *, default: bool) -> dict[str, Any]:
        """Write a provider into the configuration, say hello to its model, and remove it again when that fails.

        Args:
            default: Whether the model becomes `models.default`.

        Returns:
            `model` as it is named from now on, and what `say_hello` says.

        Raises:
            HubError: The model does not answer, or the configuration cannot be changed; the files are as before.
        """
        async with self._changing:
            provider = replace(provider, name=self._free_name(provider))
            ref = f"{provider.name}/{provider.model}"
            before = await asyncio.to_thread(self._write, provider, ref if default else None)
            try:
                result = await self._config.reload()
                if not result.applied:
                    raise InvalidRequest(f"{provider.name} was not added: {result.errors[0]}")
                await self._apply(result)
                resolved = await self._models.resolve(ref)
                said = await say_hello(resolved.provider, resolved.info.id, resolved.params)
                if not said["ok"]:
                    raise Unavailable(str(said["error"]), details={"code": said["code"]})
            except BaseException:
                await asyncio.shield(self._restore(before))
                raise
            return {"model": ref, **said}

    async def remove(self, name: str) -> None:
        """Remove a provider from the configuration, with all references to its models there and its stored key.

        Raises:
            NotFound: The configuration has no such provider.
            Conflict: An agent is set to one of its models.
        """
        async with self._changing:
            raw = self._config.current.raw
            if name not in ((raw.get("models") or {}).get("providers") or {}):
                raise NotFound(
                    phrase("The configuration has no provider {name} that could be removed.", name=name[:64])
                )
            await asyncio.to_thread(self._remove, name, raw)
            await self._apply(await self._config.reload())

    def _remove(self, name: str, raw: Mapping[str, Any]) -> None:
        models = raw["models"]
        agents = raw.get("agents") or ()
        for agent in [agents] if isinstance(agents, Mapping) else agents:
            if _is_of(name, agent.get("model")):
                told = phrase(
                    "The agent {agent} is set to {model}; give it another model first.",
                    agent=agent["id"],
                    model=agent["model"],
                )
                raise Conflict(told, details={"agent": agent["id"]})
        edits: dict[KeyPath, Any] = {("models", "providers", name): REMOVED}
        if _is_of(name, models.get("default")):
            edits[("models", "default")] = AUTO
        fallbacks = [models["fallbacks"]] if isinstance(models.get("fallbacks"), str) else models.get("fallbacks") or []
        left = [each for each in fallbacks if not _is_of(name, each)]
        if len(left) < len(fallbacks):
            edits[("models", "fallbacks")] = left
        for alias, ref in (models.get("aliases") or {}).items():
            if _is_of(name, ref):
                edits[("models", "aliases", alias)] = REMOVED
        self._config.editor.change(edits)
        self._config.editor.remove_secret(f"{name}_key")

    def _write(self, provider: NewProvider, default: str | None) -> dict[str, str]:
        """Write the files; return their previous content."""
        editor = self._config.editor
        place = editor.where(lambda _: ("models", "providers", provider.name))
        top = editor.where(lambda _: ("models", "default"))
        before = {place.file: place.text, top.file: top.text}
        if provider.key:
            before[SECRETS_FILE] = editor.set_secrets({})
        try:
            write_provider(editor, provider)
            if default is not None:
                editor.set_value(("models", "default"), default)
        except HubError:
            self._put_back(before)
            raise
        return before

    def _put_back(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            _, base = self._config.editor.read_file(name, admin=True)
            self._config.editor.write_file(name, text, base)

    async def _restore(self, files: Mapping[str, str]) -> None:
        await asyncio.to_thread(self._put_back, files)
        await self._apply(await self._config.reload())

    def _free_name(self, provider: NewProvider) -> str:
        """Return the name under which it is written: your own servers have one for each address."""
        if provider.name in VENDORS:
            return provider.name
        taken = {each["name"]: each["base_url"] for each in self._models.status()["providers"]}
        name, number = provider.name, 1
        while name in taken and taken[name] != provider.base_url:
            number += 1
            name = f"{provider.name}_{number}"
        return name

    def _config_of(self, provider: NewProvider) -> ProviderConfig:
        vendor = VENDORS.get(provider.name)
        base_url = provider.base_url or (vendor.base_url if vendor is not None else None)
        api = api_of(provider.name, None, base_url)
        return ProviderConfig(provider.name, api, base_url, Secret(provider.key) if provider.key else None)

    def _made(self, config: ProviderConfig) -> ModelProvider | None:
        factory = self._models.pool.factories.get(config.api)
        return factory(config.name, config) if factory is not None else None


async def say_hello(provider: ModelProvider, model: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Make one small call of a model, and report how it went.

    Returns:
        `ok` with `text`, `tokens`, `cost_usd` and `duration_ms`; else `error` and its `code`.
    """
    request = ModelRequest(
        model,
        "",
        (user_message("Say hello."),),
        max_output_tokens=HELLO_TOKENS,
        timeout_s=HELLO_LIMIT_S,
        extra=params or {},
    )
    begun, text, usage = time.monotonic(), "", None
    try:
        stream = cast("AsyncGenerator[ModelEvent, None]", provider.stream(request))
        async with asyncio.timeout(HELLO_LIMIT_S), aclosing(stream) as events:
            async for event in events:
                if type(event) is TextDelta:
                    text += event.text
                elif type(event) is UsageEvent:
                    usage = event.usage
    except TimeoutError:
        return {"ok": False, "error": f"no answer within {HELLO_LIMIT_S:g} s", "code": ModelTimeout.code}
    except HubError as error:
        return {"ok": False, "error": error.message, "code": error.code}
    return {
        "ok": True,
        "text": text[:TEXT_LIMIT],
        "tokens": usage.total_tokens if usage is not None else None,
        "cost_usd": usage.cost_usd if usage is not None else None,
        "duration_ms": round((time.monotonic() - begun) * 1_000),
    }


def _addresses(base_url: str) -> list[str]:
    """Return where to ask: an address without a path is tried with `/v1` first."""
    base_url = base_url.strip().rstrip("/")
    if base_url and "://" not in base_url:
        base_url = f"http://{base_url}"
    bare = bool(base_url) and not urlsplit(base_url).path
    return [f"{base_url}/v1", base_url] if bare else [base_url]


def _is_of(provider: str, ref: Any) -> bool:
    return isinstance(ref, str) and ref.startswith(f"{provider}/")


def _id(model: Any) -> Any:
    return model.get("id") if isinstance(model, Mapping) else model
