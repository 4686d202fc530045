"""The configuration of a provider, from its section or from the environment, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.secret import Secret
from hub.models.contract import AUTO, CACHE_TTL_S, DEFAULT_TIMEOUT_S
from hub.models.credential_file import StoredCredential
from hub.models.oauth_endpoints import PRESETS as OAUTH_PRESETS, OAuthEndpoint
from hub.models.vendors import LITELLM_API, OFFLINE, OFFLINE_API, OLLAMA, OPENAI_API, VENDORS, Vendor, api_of

ANTHROPIC = "anthropic"
SETUP_TOKEN_PREFIX = "sk-ant-oat"  # noqa: S105  how Anthropic's tokens of a subscription begin
LONG_CACHE_TTL_S = 3_600.0
CACHE_TTLS = {"5m": CACHE_TTL_S, "1h": LONG_CACHE_TTL_S}
"""How long Claude can be told to keep a conversation in its cache, in seconds."""
DEFAULT_CREDENTIAL = "default"
"""The name of the key that is given as `api_key`."""


class KeyOrigin(StrEnum):
    """The origin of a provider."""

    CONFIGURATION = "configuration"
    ENVIRONMENT = "environment"
    LOCAL = "local"
    BUILT_IN = "built_in"
    API = "api"


class ModelSettings(Struct, frozen=True):
    """The configuration of one model: `facts` are fields of `ModelInfo`, `params` are sent with each call."""

    id: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


class ProviderKey(Struct, frozen=True):
    """One of several keys of a provider.

    Attributes:
        id: Its name.
        api_key: The key.
        source: How people know it: `configuration`, or what kind of credential was added.
        renews: Whether it is a sign-in that is renewed automatically.
    """

    id: str
    api_key: Secret
    source: str = "configuration"
    renews: bool = False


class ProviderConfig(Struct, frozen=True):
    """One provider.

    Attributes:
        name: The part before the slash in its models' names.
        api: Its API: `openai`, `offline`, or anything else, which is litellm's name of a vendor.
        base_url: Its address; None leaves that to the API.
        api_key: Its key; None when it needs none or the API finds one itself.
        key_source: How people know the key: `configuration` or the environment variable.
        headers: Further headers; values may be secret.
        models: The configured ones, in order.
        timeout_s: The time until the first event, then between two.
        proxy: HTTP proxy.
        params: Sent with every call.
        cache_ttl: auto | 5m | 1h: how long Claude keeps a conversation in its cache.
        final_tags: Whether its models answer between `<final>` and `</final>`, where they do not say.
        origin: Its origin.
        credentials: Further keys, in order.
        rotate: Whether sessions are spread over the keys, instead of using the first that works.
        credential: Which of its keys `api_key` is.
        renews: Whether that is a sign-in that is renewed automatically.
        oauth: Its sign-in, if it has one.
    """

    name: str
    api: str
    base_url: str | None = None
    api_key: Secret | None = None
    key_source: str | None = None
    headers: Mapping[str, Secret] = field(default_factory=dict)
    models: tuple[ModelSettings, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    proxy: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    cache_ttl: str = AUTO
    final_tags: bool = False
    origin: KeyOrigin = KeyOrigin.CONFIGURATION
    credentials: tuple[ProviderKey, ...] = ()
    rotate: bool = False
    credential: str = DEFAULT_CREDENTIAL
    renews: bool = False
    oauth: OAuthEndpoint | None = None

    @property
    def vendor(self) -> Vendor | None:
        """The vendor it is, when its address is the vendor's own."""
        vendor = VENDORS.get(self.name)
        if vendor is None or vendor.api != self.api or (self.base_url or None) != vendor.base_url:
            return None
        return vendor

    @property
    def lacks_key(self) -> bool:
        """Whether it is unusable without a key."""
        return self.vendor is not None and self.vendor.needs_key and not (self.api_key or self.credentials)

    @property
    def cache_ttl_s(self) -> float:
        """Seconds for which Claude keeps a conversation; auto is an hour with an API key at Anthropic itself."""
        if self.cache_ttl != AUTO:
            return CACHE_TTLS[self.cache_ttl]
        is_anthropic = (self.name if self.api == LITELLM_API else self.api) == ANTHROPIC and self.base_url is None
        has_key = self.api_key is not None and not self.api_key.reveal().startswith(SETUP_TOKEN_PREFIX)
        return LONG_CACHE_TTL_S if is_anthropic and has_key else CACHE_TTL_S

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """The names of its keys, in order; `default` is `api_key`, or none needed."""
        first = (DEFAULT_CREDENTIAL,) if self.api_key is not None or not self.credentials else ()
        return (*first, *(each.id for each in self.credentials))

    def with_credential(self, credential: str) -> ProviderConfig:
        """Return the same provider with one of its credentials as its key."""
        found = next((each for each in self.credentials if each.id == credential), None)
        if found is None:
            return self
        return replace(self, api_key=found.api_key, key_source=found.source, credential=credential, renews=found.renews)

    @property
    def key_setting(self) -> str:
        """The configuration key of its API key, below the provider."""
        return "api_key" if self.credential == DEFAULT_CREDENTIAL else f"credentials ({self.credential})"

    def settings(self, model_id: str) -> ModelSettings | None:
        """Return the configured settings of a model."""
        return next((model for model in self.models if model.id == model_id), None)


def read_providers(
    section: Mapping[str, Any], environment: Mapping[str, str], apis: Iterable[str] = ()
) -> dict[str, ProviderConfig]:
    """Return every provider by name, in the preference order of `auto`.

    Args:
        section: The validated `models:` section.
        environment: Environment variables.
        apis: The APIs that bring a provider of their own name.

    Returns:
        Those of the configuration in its order, those whose key is in the environment, the local Ollama, offline,
        those of APIs.
    """
    found: dict[str, ProviderConfig] = {}
    for name, given in section.get("providers", {}).items():
        found[name] = _configured(name, given or {}, environment)
    for provider in _from_environment(environment):
        found.setdefault(provider.name, provider)
    found.setdefault(OLLAMA, ProviderConfig(OLLAMA, OPENAI_API, ollama_url(environment), origin=KeyOrigin.LOCAL))
    found.setdefault(OFFLINE, ProviderConfig(OFFLINE, OFFLINE_API, origin=KeyOrigin.BUILT_IN))
    for api in apis:
        found.setdefault(api, ProviderConfig(api, api, origin=KeyOrigin.API))
    return found


def with_stored_credentials(
    providers: Mapping[str, ProviderConfig], stored: Iterable[StoredCredential], environment: Mapping[str, str]
) -> dict[str, ProviderConfig]:
    """Return the providers with the credentials added while the hub ran.

    A vendor that is not configured is a provider by its credential, after the configured ones.
    """
    found = dict(providers)
    added: dict[str, ProviderConfig] = {}
    for each in stored:
        config = added.get(each.provider) or found.pop(each.provider, None)
        if config is None or config.origin is not KeyOrigin.CONFIGURATION:
            if each.provider not in VENDORS:
                continue
            config = _configured(each.provider, {}, environment)
        key = ProviderKey(each.id, each.access, each.kind.value, renews=each.refresh is not None)
        kept = tuple(known for known in config.credentials if known.id != each.id)
        added[each.provider] = replace(config, credentials=(*kept, key))
    configured = [name for name, config in providers.items() if config.origin is KeyOrigin.CONFIGURATION]
    order = dict.fromkeys([*configured, *added, *found])
    return {name: added.get(name) or found[name] for name in order}


def ollama_url(environment: Mapping[str, str]) -> str:
    """Return the address of a local Ollama; its own variable OLLAMA_HOST counts if it names a loopback address."""
    default = VENDORS[OLLAMA].base_url or ""
    host = environment.get("OLLAMA_HOST", "").strip().removesuffix("/")
    if not host:
        return default
    address = host if "://" in host else f"http://{host}"
    authority = address.split("://", 1)[1]
    name, colon, port = authority.rpartition(":") if authority.rpartition(":")[2].isdigit() else (authority, "", "")
    if not colon:
        port = "11434"
    # 0.0.0.0 is what Ollama binds to, not an address to dial; anything not loopback must be configured by name.
    if name in {"", "0.0.0.0"}:  # noqa: S104  it is compared, not bound
        name = "127.0.0.1"
    if name not in {"127.0.0.1", "localhost", "[::1]"}:
        return default
    return f"{address.split('://', 1)[0]}://{name}:{port}/v1"


def _configured(name: str, given: Mapping[str, Any], environment: Mapping[str, str]) -> ProviderConfig:
    vendor = VENDORS.get(name)
    api = api_of(name, given.get("api"), given.get("base_url"))
    own = vendor is not None and vendor.api == api
    key, source = given.get("api_key"), "configuration" if given.get("api_key") else None
    base_url = given.get("base_url")
    # A key of the environment goes to the vendor it is for, never to another address.
    if (
        vendor is not None
        and own
        and key is None
        and not given.get("credentials")
        and base_url in {None, vendor.base_url}
    ):
        key, source = _environment_key(vendor, environment)
    if base_url is None and vendor is not None and own:
        base_url = ollama_url(environment) if name == OLLAMA else vendor.base_url
    return ProviderConfig(
        name=name,
        api=api,
        base_url=base_url,
        api_key=key,
        key_source=source,
        headers=dict(given.get("headers", {})),
        models=tuple(_settings(model) for model in given.get("models", ())),
        timeout_s=float(given.get("timeout_s", DEFAULT_TIMEOUT_S)),
        proxy=given.get("proxy"),
        params=dict(given.get("params", {})),
        cache_ttl=given.get("cache_ttl", AUTO),
        final_tags=bool(given.get("final_tags")),
        origin=KeyOrigin.CONFIGURATION,
        credentials=tuple(ProviderKey(each["id"], each["api_key"]) for each in given.get("credentials", ())),
        rotate=bool(given.get("rotate_credentials")),
        oauth=_endpoint(name, given.get("oauth")) if own or given.get("oauth") else None,
    )


def _endpoint(name: str, given: Mapping[str, Any] | None) -> OAuthEndpoint | None:
    return OAuthEndpoint(**given) if given is not None else OAUTH_PRESETS.get(name)


def _from_environment(environment: Mapping[str, str]) -> Iterator[ProviderConfig]:
    for vendor in VENDORS.values():
        key, source = _environment_key(vendor, environment)
        if key is None:
            continue
        other = environment.get(vendor.base_url_variable or "", "").strip().rstrip("/")
        yield ProviderConfig(
            vendor.name,
            vendor.api,
            other or vendor.base_url,
            key,
            source,
            origin=KeyOrigin.ENVIRONMENT,
        )


def _environment_key(vendor: Vendor, environment: Mapping[str, str]) -> tuple[Secret | None, str | None]:
    for variable in vendor.key_variables:
        if value := environment.get(variable, "").strip():
            return Secret(value, source=f"!env_var {variable}"), variable
    return None, None


def _settings(given: Mapping[str, Any]) -> ModelSettings:
    facts = {
        key: given[key]
        for key in ("name", "context_window", "max_output_tokens", "tools", "images", "thinking", "final_tags")
        if key in given
    }
    facts |= {f"{kind}_usd": price for kind, price in given.get("cost", {}).items()}
    return ModelSettings(given["id"], facts, dict(given.get("params", {})))
