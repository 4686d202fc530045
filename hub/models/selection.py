"""Resolves references of models: aliases and `auto`, as functions over plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.models.contract import AUTO
from hub.models.provider_config import KeyOrigin, ProviderConfig, read_providers
from hub.models.vendors import VENDORS

ALIAS_DEPTH = 8


class Option(Struct, frozen=True):
    """A provider as `auto` sees it; `obstacle` is the reason why it cannot be used now, if any."""

    config: ProviderConfig
    obstacle: str | None = None


class Choice(Struct, frozen=True):
    """A provider, its model (None: the default), the reason, and the credential to use, if named."""

    provider: str
    model_id: str | None
    reason: str
    credential: str | None = None


def choose_auto(options: Sequence[Option]) -> Choice:
    """Pick for `auto`: a configured provider, else a key of the environment, else a local Ollama, else offline.

    Args:
        options: In that order.

    Raises:
        NotFound: None can be used; the message says why not, one by one.
    """
    unusable: list[str] = []
    skipped: list[str] = []
    for option in options:
        if option.obstacle is None:
            why = f"; skipped: {'; '.join(skipped)}" if skipped else ""
            return Choice(option.config.name, None, f"auto: {_described(option.config)}{why}")
        unusable.append(f"{option.config.name} ({option.obstacle})")
        if option.config.origin is not KeyOrigin.LOCAL:  # that there is no Ollama is no news
            skipped.append(unusable[-1])
    raise NotFound(f"No model can be used: {'; '.join(unusable) or 'none is configured'}.")


def choose_named(
    ref: str, providers: Mapping[str, ProviderConfig], aliases: Mapping[str, str], default: str
) -> Choice | None:
    """Read a reference: an alias, `provider/model id`, a provider alone, or a model id that one provider names.

    `@CREDENTIAL` after it names one of the provider's keys; an @ that names none belongs to the model's id.

    Returns:
        The choice, or None when it amounts to `auto`.

    Raises:
        NotFound: Nothing has that name; the message offers the nearest.
        InvalidRequest: Aliases form a loop.
    """
    reasons = []
    for _ in range(ALIAS_DEPTH):
        if ref == "default":
            ref = default
        if ref in aliases:
            reasons.append(f"{ref} is an alias")
            ref = aliases[ref]
            continue
        if ref == AUTO:
            return None
        if (pinned := _pinned(ref, providers, aliases, default)) is not None:
            return pinned
        provider, model_id = _split(ref, providers, aliases)
        reasons.append(f"{ref} is configured")
        return Choice(provider, model_id, "; ".join(reasons))
    raise InvalidRequest(f"models.aliases: {' → '.join([*list(aliases)[:3], '…'])} form a loop at {ref}.")


def doubts(section: Mapping[str, Any], integrations: Iterable[str] = ()) -> Callable[[str], str | None]:
    """Return why a reference names an unknown model; None if it may be known.

    A vendor that is known by name passes, even without its key: the key may come from the environment. So does an
    integration in use, which may bring a provider of its own name. Of your own server that names its models,
    only those exist.
    """
    aliases: Mapping[str, str] = section["aliases"]
    providers = read_providers(section, {})
    known = {**{name: ProviderConfig(name, vendor.api) for name, vendor in VENDORS.items()}, **providers}
    brought = {name: ProviderConfig(name, name) for name in integrations} | known

    def doubt(ref: str) -> str | None:
        try:
            choice = choose_named(ref, known, aliases, section["default"])
        except HubError as error:  # its message offers no section that only looks like a provider
            with suppress(HubError):
                choose_named(ref, brought, aliases, section["default"])
                return None
            return error.message
        config = known[choice.provider] if choice is not None else None
        if choice is None or config is None or choice.model_id is None or config.vendor is not None:
            return None
        named = [each.id for each in config.models]
        return unlisted_message(config.name, choice.model_id, named) if named and choice.model_id not in named else None

    return doubt


def doubtful_references(
    section: Mapping[str, Any], integrations: Iterable[str] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the keys of `models:` with an unknown model, and the problem of each; see `doubts`."""
    named: list[tuple[tuple[str | int, ...], str]] = [(("models", "default"), section["default"])]
    named += [(("models", "fallbacks", place), ref) for place, ref in enumerate(section["fallbacks"])]
    named += [(("models", "aliases", alias), ref) for alias, ref in section["aliases"].items()]
    doubt = doubts(section, integrations)
    for keys, ref in named:
        if (message := doubt(ref)) is not None:
            yield keys, message


def has_model(listed: Collection[str], model_id: str) -> bool:
    """Whether a list contains a model: also its newest version, a variant, or by a wildcard."""
    base = model_id.partition(":")[0]
    return any(
        each in (model_id, f"{model_id}:latest", base) or each.startswith(f"{model_id}-") or fnmatchcase(model_id, each)
        for each in listed
    )


def unlisted_message(provider: str, model_id: str, listed: Iterable[str]) -> str:
    """Return the sentence that a provider lacks a model, with similarly spelt ones."""
    names = sorted(listed)
    near = get_close_matches(model_id, names, n=3) or names[:3]
    return f"{provider} lists no model {model_id}. Did you mean {' or '.join(f'{provider}/{each}' for each in near)}?"


def _pinned(
    ref: str, providers: Mapping[str, ProviderConfig], aliases: Mapping[str, str], default: str
) -> Choice | None:
    base, at, credential = ref.rpartition("@")
    if not at or not base or not credential or ref.partition("/")[2].startswith("@"):
        return None
    try:
        choice = choose_named(base, providers, aliases, default)
    except NotFound:
        return None
    if choice is None:
        raise InvalidRequest(f"{ref}: {base} leaves the provider open; name one before @{credential}.")
    known = providers[choice.provider].credential_ids
    if credential in known:
        return replace(choice, credential=credential, reason=f"{choice.reason}; {credential} is named")
    if "/" in base and base not in aliases:
        return None
    raise NotFound(f"{choice.provider} has no credential {credential}; it has {', '.join(known)}.")


def _split(ref: str, providers: Mapping[str, ProviderConfig], aliases: Mapping[str, str]) -> tuple[str, str | None]:
    name, slash, model_id = ref.partition("/")
    if name in providers:
        return name, model_id if slash and model_id else None
    owners = [config.name for config in providers.values() if config.settings(ref) is not None]
    if len(owners) == 1:
        return owners[0], ref
    if len(owners) > 1:
        raise NotFound(f"Several providers have a model {ref}: write {' or '.join(f'{one}/{ref}' for one in owners)}.")
    raise NotFound(_unknown(ref, name, providers, aliases), details={"model": ref})


def _unknown(ref: str, name: str, providers: Collection[str], aliases: Collection[str]) -> str:
    if (vendor := VENDORS.get(name)) is not None and vendor.key_variables:
        return (
            f"There is no model {ref} yet: {name} has no key. Set {vendor.key_variables[0]}, or run: "
            f"homarus models auth add {name}"
        )
    near = get_close_matches(name, [*providers, *aliases], n=1) or get_close_matches(ref, list(aliases), n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return (
        f"There is no model {ref}: {name} is neither a provider nor an alias.{hint} "
        f"There are: {', '.join(sorted([*providers, *aliases]))}; others are added under models.providers."
    )


def _described(config: ProviderConfig) -> str:
    match config.origin:
        case KeyOrigin.CONFIGURATION:
            return f"{config.name} is configured"
        case KeyOrigin.ENVIRONMENT:
            return f"{config.key_source} is set"
        case KeyOrigin.LOCAL:
            return f"Ollama answers at {config.base_url}"
        case KeyOrigin.BUILT_IN:
            return "offline"
        case KeyOrigin.API:
            return f"{config.name} is set up"
