"""People's names for models, with their providers, instead of `provider/id`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hub.core.surfaces import HttpCall
from hub.models.vendors import OFFLINE
from web.core.formats import model_name
from web.core.method_client import MethodClient
from web.core.texts import MODEL_PROVIDERS, OFFLINE_MODEL


class ModelNames:
    """The names of the models that the hub knows.

    Args:
        listed: As `models.list` returns them.
        translate: Into the reader's language; brands stay as they are.
    """

    def __init__(self, listed: Iterable[Mapping[str, Any]], translate: Callable[[str], str]) -> None:
        self._translate = translate
        self._names = {str(each["ref"]): str(each["name"]) for each in listed}

    @classmethod
    async def of(cls, client: MethodClient, call: HttpCall, translate: Callable[[str], str]) -> ModelNames:
        """Return the names of the models there are now."""
        return cls((await client.ask(call, "models.list"))["models"], translate)

    def name(self, ref: str) -> str:
        """Return the name of a model: what its provider calls it, else its id; a credential at its end is left out."""
        bare = ref.partition("@")[0] if ref not in self._names else ref
        if bare.startswith(f"{OFFLINE}/"):
            return self._translate(OFFLINE_MODEL)
        return self._names.get(bare) or model_name(bare)

    def title_of(self, ref: str) -> str:
        """Return the name of a model with whose it is."""
        provider = ref.partition("/")[0]
        name, of = self.name(ref), self._translate(provider_name(provider))
        return name if name == of or provider == OFFLINE else f"{name} · {of}"

    def with_key(self, ref: str) -> str:
        """Return the name of a model with its provider, and the key that was used when that has a name."""
        bare, _, key = ref.partition("@")
        return (
            f"{self.title_of(bare)} ({key})"
            if key not in ("", "default") and ref not in self._names
            else self.title_of(ref)
        )

    def choices(self, chosen: str = "") -> list[tuple[str, str]]:
        """Return the models to pick from, including the chosen one even if nobody lists it."""
        refs = sorted(self._names, key=lambda ref: self.title_of(ref).lower())
        more = [chosen] if chosen and chosen not in self._names else []
        return [(ref, self.title_of(ref)) for ref in [*more, *refs]]


def provider_name(provider: str) -> str:
    """Return people's name for a provider: a further server of your own has its number."""
    if provider in MODEL_PROVIDERS:
        return MODEL_PROVIDERS[provider]
    base, _, number = provider.rpartition("_")
    return f"{MODEL_PROVIDERS[base]} {number}" if base in MODEL_PROVIDERS and number.isdecimal() else provider
