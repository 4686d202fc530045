"""Reads a server's list of models, with the details that some kinds of servers add. Pure."""

from __future__ import annotations

import re
from typing import Any

from hub.models.contract import ModelInfo

MODELS_LIMIT = 1_000
ID_LIMIT = 256

_NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|moderation|rerank|transcribe|realtime|sora|davinci|babbage|gpt-image|gpt-audio|clip",
    re.IGNORECASE,
)
# vLLM; OpenRouter and Together; Groq; LM Studio and Mistral; llama.cpp.
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
_WINDOW_MIN = 512


def read_models(provider: str, body: Any) -> list[ModelInfo]:
    """Return the chat models of a `/models` answer; other models are left out.

    Args:
        provider: Name of the provider.
        body: Parsed JSON.
    """
    entries = body.get("data", body.get("models")) if isinstance(body, dict) else body
    if not isinstance(entries, list):
        return []
    infos = (_info(provider, entry) for entry in entries[:MODELS_LIMIT] if isinstance(entry, dict))
    return [info for info in infos if info is not None]


def _info(provider: str, entry: dict[str, Any]) -> ModelInfo | None:
    id = entry.get("id") or entry.get("name")
    if not isinstance(id, str) or not id or len(id) > ID_LIMIT or not id.isprintable() or _NO_CHAT.search(id):
        return None
    known: dict[str, Any] = {}
    if (window := _window(entry)) is not None:
        known["context_window"] = window
    known |= _prices(entry.get("pricing"))
    known |= _abilities(entry)
    name = entry.get("name")
    if isinstance(name, str) and name != id and len(name) <= ID_LIMIT:
        known["name"] = name
    return ModelInfo(id, provider, **known)


def _window(entry: dict[str, Any]) -> int | None:
    meta = entry.get("meta")
    for source in (entry, meta if isinstance(meta, dict) else {}):
        for field in _WINDOWS:
            value = source.get(field)
            if isinstance(value, int) and not isinstance(value, bool) and value >= _WINDOW_MIN:
                return value
    return None


def _prices(pricing: Any) -> dict[str, float]:
    """Read OpenRouter's prices, which are strings of dollars per token; -1 says that it depends."""
    if not isinstance(pricing, dict):
        return {}
    names = {
        "prompt": "input_usd",
        "completion": "output_usd",
        "input_cache_read": "cache_read_usd",
        "input_cache_write": "cache_write_usd",
    }
    found = {}
    for theirs, ours in names.items():
        try:
            price = float(pricing.get(theirs, -1)) * 1_000_000
        except (TypeError, ValueError):
            continue
        if 0 <= price < 1e6:
            found[ours] = round(price, 6)
    return found if {"input_usd", "output_usd"} <= found.keys() else {}


def _abilities(entry: dict[str, Any]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    parameters = entry.get("supported_parameters")
    if isinstance(parameters, list) and parameters:
        found["tools"] = "tools" in parameters
        found["thinking"] = "reasoning" in parameters
    architecture = entry.get("architecture")
    kinds = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    if isinstance(kinds, list):
        found["images"] = "image" in kinds
    return found
