"""Vendors of embeddings that are asked through litellm: what is usual there, and the provider that asks one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hub.models.vendors import LITELLM_API
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.declared import Declared, open_model
from integrations.memory.notes.index.embeddings.provider import Limits
from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings

_LIMITS = Limits(texts=100, tokens=60_000, text_chars=8_000)
"""Gemini's, which are the least."""


@dataclass(frozen=True, slots=True)
class EmbeddingVendor:
    """A vendor that can be named without litellm.

    Attributes:
        name: For people.
        url: Its own address.
        model: The one used when none is configured.
        asked_dimensions: The length that is asked for when none is configured; None for what the model has.
        dimensions: What its models have, where that is known.
    """

    name: str
    url: str
    model: str
    asked_dimensions: int | None = None
    dimensions: Mapping[str, int] = field(default_factory=dict)


VENDORS = {
    # 768 numbers of 3,072 that it can: as good to a point or two, at a quarter of the room and time.
    "gemini": EmbeddingVendor(
        "Gemini", "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-001", asked_dimensions=768
    ),
    "voyage": EmbeddingVendor(
        "Voyage",
        "https://api.voyageai.com/v1",
        "voyage-4",
        dimensions={
            **dict.fromkeys(("voyage-4-large", "voyage-4", "voyage-4-lite"), 1_024),
            **dict.fromkeys(("voyage-3-large", "voyage-3.5", "voyage-3.5-lite", "voyage-code-3"), 1_024),
            **dict.fromkeys(("voyage-finance-2", "voyage-law-2"), 1_024),
        },
    ),
}


def open_vendor(vendor: str, model: str, key: str | None, base_url: str | None, wanted: EmbeddingSettings) -> Declared:
    """Return the provider that asks a vendor through litellm; blocks.

    Args:
        vendor: As litellm knows it.
        model, key: Its model, and the key for it.
        base_url: Another address than its own.
        wanted: What else is configured.

    Raises:
        EngineMissing: litellm is not installed.
    """
    known = VENDORS.get(vendor) or EmbeddingVendor(vendor, "", model)
    model = model.removeprefix("models/")
    length = wanted.dimensions or known.asked_dimensions
    asked = {"vendor": vendor, "model": model, "api_key": key, "base_url": base_url, "dimensions": length}
    opened = open_model(LITELLM_API, wanted.engines, {**asked, "timeout_s": wanted.timeout_s})
    address = base_url or known.url
    place = Endpoint(address).shown if address else LITELLM_API
    id = EmbedderId(vendor, model, place, length or known.dimensions.get(model))
    return Declared(id, opened, known.name, _LIMITS, length, priced=base_url is None)
