"""Context windows and prices of well-known models: facts only, as their vendors published them.

Where the configuration or the provider itself differs, that counts. Prices change: `cost` of a model in the
configuration corrects one.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from hub.models.contract import ModelInfo

_Row = tuple[str, int, int | None, float | None, float | None, float | None, float | None, str]

# id, context window, longest answer, then US dollars per million tokens: input, output, read from and written to the
# cache; then what it can do: t tools, i images, h thinking.
# fmt: off
_ROWS: Mapping[str, tuple[_Row, ...]] = {
    "openai": (
        ("gpt-6.1-sol", 922_000, 128_000, 2, 10, 0.1, 2.5, "tih"),
        ("gpt-6-astra", 922_000, 128_000, 10, 50, 1, 12.5, "tih"),
        ("gpt-6-sol", 922_000, 128_000, 2, 10, 0.2, 2.5, "tih"),
        ("gpt-6-luna", 922_000, 128_000, 0.1, 0.5, 0.01, 0.125, "tih"),
        ("gpt-5.6", 922_000, 128_000, 4, 20, 0.4, 5, "tih"),
        ("gpt-5.6-sol", 922_000, 128_000, 4, 20, 0.4, 5, "tih"),
        ("gpt-5.6-terra", 922_000, 128_000, 2, 12, 0.2, 2.5, "tih"),
        ("gpt-5.6-luna", 922_000, 128_000, 0.2, 1.2, 0.02, 0.25, "tih"),
        ("gpt-5.5", 1_050_000, 128_000, 5, 30, 0.5, None, "tih"),
        ("gpt-5.4", 1_050_000, 128_000, 2.5, 15, 0.25, None, "tih"),
        ("gpt-5.4-mini", 272_000, 128_000, 0.75, 4.5, 0.075, None, "tih"),
        ("gpt-5.4-nano", 272_000, 128_000, 0.2, 1.25, 0.02, None, "tih"),
        ("gpt-5.2", 272_000, 128_000, 1.75, 14, 0.175, None, "tih"),
        ("gpt-5.1", 272_000, 128_000, 1.25, 10, 0.125, None, "tih"),
        ("gpt-5", 272_000, 128_000, 1.25, 10, 0.125, None, "tih"),
        ("gpt-5-mini", 272_000, 128_000, 0.25, 2, 0.025, None, "tih"),
        ("gpt-5-nano", 272_000, 128_000, 0.05, 0.4, 0.005, None, "tih"),
        ("gpt-4.1", 1_047_576, 32_768, 2, 8, 0.5, None, "ti"),
        ("gpt-4.1-mini", 1_047_576, 32_768, 0.4, 1.6, 0.1, None, "ti"),
        ("gpt-4.1-nano", 1_047_576, 32_768, 0.1, 0.4, 0.025, None, "ti"),
        ("gpt-4o", 128_000, 16_384, 2.5, 10, 1.25, None, "ti"),
        ("gpt-4o-mini", 128_000, 16_384, 0.15, 0.6, 0.075, None, "ti"),
        ("o3", 200_000, 100_000, 2, 8, 0.5, None, "tih"),
        ("o4-mini", 200_000, 100_000, 1.1, 4.4, 0.275, None, "tih"),
    ),
    "anthropic": (
        ("claude-fable-5-1", 1_000_000, 128_000, 10, 50, 0.25, 12.5, "tih"),
        ("claude-opus-5-5", 1_000_000, 128_000, 4, 20, 0.2, 5, "tih"),
        ("claude-sonnet-5-5", 1_000_000, 128_000, 2, 10, 0.1, 2.5, "tih"),
        ("claude-haiku-5-5", 1_000_000, 128_000, 0.1, 0.5, 0.01, 0.125, "tih"),
        ("claude-mythos-5-1", 1_000_000, 128_000, 10, 50, 0.25, 12.5, "tih"),
        ("claude-fable-5", 1_000_000, 128_000, 10, 50, 1, 12.5, "tih"),
        ("claude-opus-5", 1_000_000, 128_000, 5, 25, 0.5, 6.25, "tih"),
        ("claude-sonnet-5", 1_000_000, 128_000, 2, 10, 0.2, 2.5, "tih"),
        ("claude-opus-4-8", 1_000_000, 128_000, 5, 25, 0.5, 6.25, "tih"),
        ("claude-opus-4-7", 1_000_000, 128_000, 5, 25, 0.5, 6.25, "tih"),
        ("claude-opus-4-6", 1_000_000, 128_000, 5, 25, 0.5, 6.25, "tih"),
        ("claude-opus-4-5", 200_000, 64_000, 5, 25, 0.5, 6.25, "tih"),
        ("claude-sonnet-4-6", 1_000_000, 128_000, 3, 15, 0.3, 3.75, "tih"),
        ("claude-sonnet-4-5", 200_000, 64_000, 3, 15, 0.3, 3.75, "tih"),
        ("claude-haiku-4-5", 200_000, 64_000, 1, 5, 0.1, 1.25, "tih"),
    ),
    "gemini": (
        ("gemini-4-argon", 1_048_576, 1_048_576, 2, 10, 0.1, None, "tih"),
        ("gemini-3.8-flash", 1_048_576, 65_536, 0.75, 3.75, 0.075, None, "tih"),
        ("gemini-3.7-flash", 1_048_576, 65_536, 0.75, 3.75, 0.075, None, "tih"),
        ("gemini-3.6-flash", 1_048_576, 65_536, 0.75, 3.75, 0.075, None, "tih"),
        ("gemini-3.5-flash", 1_048_576, 65_536, 1.5, 9, 0.15, None, "tih"),
        ("gemini-3.5-flash-lite", 1_048_576, 65_536, 0.3, 2.5, 0.03, None, "tih"),
        ("gemini-3.1-pro-preview", 1_048_576, 65_536, 2, 12, 0.2, None, "tih"),
        ("gemini-3-flash-preview", 1_048_576, 65_536, 0.5, 3, 0.05, None, "tih"),
        ("gemini-3.1-flash-lite", 1_048_576, 65_536, 0.25, 1.5, 0.025, None, "tih"),
        ("gemini-2.5-pro", 1_048_576, 65_536, 1.25, 10, 0.125, None, "tih"),
        ("gemini-2.5-flash", 1_048_576, 65_536, 0.3, 2.5, 0.03, None, "tih"),
        ("gemini-2.5-flash-lite", 1_048_576, 65_536, 0.1, 0.4, 0.01, None, "tih"),
        ("gemini-flash-latest", 1_048_576, 65_536, 0.75, 3.75, 0.075, None, "tih"),
        ("gemini-flash-lite-latest", 1_048_576, 65_536, 0.3, 2.5, 0.03, None, "tih"),
    ),
    "mistral": (
        ("mistral-large-4", 1_048_576, None, 0.68, 2.09, 0.068, None, "tih"),
        ("mistral-large-latest", 262_144, 262_144, 0.5, 1.5, 0.05, None, "ti"),
        ("mistral-medium-latest", 262_144, 262_144, 1.5, 7.5, 0.15, None, "tih"),
        ("mistral-small-latest", 262_144, 262_144, 0.15, 0.6, 0.015, None, "tih"),
        ("magistral-medium-latest", 262_144, 262_144, 1.5, 7.5, 0.15, None, "tih"),
        ("devstral-latest", 256_000, 256_000, 0.4, 2, 0.04, None, "t"),
        ("codestral-latest", 128_000, 128_000, 0.3, 0.9, 0.03, None, "t"),
        ("ministral-8b-latest", 262_144, 262_144, 0.15, 0.15, 0.015, None, "ti"),
        ("ministral-3b-latest", 131_072, 131_072, 0.1, 0.1, 0.01, None, "ti"),
    ),
    "deepseek": (
        ("deepseek-flash", 1_000_000, 393_216, 0.3, 1.2, 0.006, 0, "tih"),
        ("deepseek-v4-flash", 1_000_000, 393_216, 0.3, 1.2, 0.006, 0, "tih"),
        ("deepseek-v4-pro", 1_000_000, 393_216, 1.32, 3.96, 0.044, 0, "th"),
        ("deepseek-chat", 131_072, 8_192, 0.28, 0.42, 0.028, 0, "t"),
        ("deepseek-reasoner", 131_072, 65_536, 0.28, 0.42, 0.028, None, "h"),
    ),
    "xai": (
        ("grok-4.7", 500_000, 500_000, 2, 6, 0.5, None, "tih"),
        ("grok-4.6", 500_000, 500_000, 2, 6, 0.5, None, "tih"),
        ("grok-4.5", 500_000, 500_000, 2, 6, 0.3, None, "tih"),
        ("grok-4.3", 1_000_000, 1_000_000, 1.25, 2.5, 0.2, None, "tih"),
        ("grok-4.20", 1_000_000, 1_000_000, 1.25, 2.5, 0.2, None, "tih"),
    ),
    "groq": (
        ("openai/gpt-oss-120b", 131_072, 65_536, 0.15, 0.6, 0.075, None, "th"),
        ("openai/gpt-oss-20b", 131_072, 65_536, 0.075, 0.3, 0.0375, None, "th"),
        ("qwen/qwen3.8-27b", 131_072, 16_384, 0.8, 4, None, None, "tih"),
    ),
    "moonshot": (
        ("kimi-k3", 1_048_576, 1_048_576, 3, 15, 0.3, None, "tih"),
        ("kimi-k2.7-code", 262_144, 262_144, 0.95, 4, 0.19, None, "tih"),
        ("kimi-k2.6", 262_144, 262_144, 0.95, 4, 0.16, None, "tih"),
        ("kimi-k2.5", 262_144, 262_144, 0.6, 3, 0.1, None, "tih"),
    ),
    "zai": (
        ("glm-5.3", 1_000_000, 128_000, 1.4, 4.4, 0.26, 0, "th"),
        ("glm-5.3-flash", 1_048_576, 128_000, 0.15, 0.5, 0.03, 0, "tih"),
        ("glm-5.2", 1_000_000, 128_000, 1.4, 4.4, 0.26, 0, "th"),
        ("glm-5.1", 200_000, 128_000, 1.4, 4.4, 0.26, 0, "th"),
        ("glm-5", 200_000, 128_000, 1, 3.2, 0.2, 0, "th"),
        ("glm-4.7", 200_000, 128_000, 0.6, 2.2, 0.11, 0, "th"),
    ),
    "dashscope": (
        ("qwen3.8-max", 991_808, 131_072, 2, 6, 0.25, None, "tih"),
        ("qwen3.8-flash", 991_808, 131_072, 0.15, 0.47, 0.016, 0.2, "tih"),
        ("qwen3.7-max", 991_808, 65_536, 2.5, 7.5, 0.5, 3.125, "th"),
        ("qwen3-max", 258_048, 65_536, None, None, None, None, "th"),
    ),
    "cerebras": (
        ("gpt-oss-120b", 131_072, 32_768, 0.35, 0.75, None, None, "th"),
        ("qwen-3.8-27b", 65_536, 32_768, 0.99, 1.49, None, None, "tih"),
    ),
    "together_ai": (
        ("openai/gpt-oss-120b", 131_072, None, 0.15, 0.6, None, None, "th"),
        ("deepseek-ai/DeepSeek-V4-Pro-0813", 1_048_576, None, 1.32, 3.96, 0.13, None, "t"),
        ("moonshotai/Kimi-K3", 1_048_576, None, 3, 15, 0.3, None, "tih"),
        ("zai-org/GLM-5.3", 1_048_575, 128_000, 1.4, 4.4, 0.26, None, "th"),
    ),
}
# fmt: on

_DATE = 8
# How resellers call those who made a model.
_MAKERS = {"google": "gemini", "x-ai": "xai", "moonshotai": "moonshot", "mistralai": "mistral", "z-ai": "zai"}


def known_models(provider: str) -> list[ModelInfo]:
    """Return the well-known models of a vendor, best known first; empty for others."""
    return [_info(provider, row) for row in _ROWS.get(provider, ())]


def known_model(provider: str, model_id: str) -> ModelInfo | None:
    """Return the catalog entry of a model, or None.

    A dated id (`name-20260416`, `name-2026-04-16`) is its undated one. For a provider that resells others
    (`openrouter/anthropic/claude-…`), context window and abilities are those of the original; prices are not.
    """
    for id in (model_id, undated(model_id)):
        for row in _ROWS.get(provider, ()):
            if row[0] == id:
                return replace(_info(provider, row), id=model_id)
    vendor, slash, rest = model_id.partition("/")
    if not slash or provider in _ROWS:
        return None
    maker = _MAKERS.get(vendor, vendor)
    original = known_model(maker, rest) or known_model(maker, rest.replace(".", "-"))
    if original is None:
        return None
    return replace(
        original,
        id=model_id,
        provider=provider,
        input_usd=None,
        output_usd=None,
        cache_read_usd=None,
        cache_write_usd=None,
    )


def undated(model_id: str) -> str:
    """Return a model's id without the date at its end."""
    head, dash, tail = model_id.rpartition("-")
    if dash and tail.isdigit() and len(tail) == _DATE:
        return head
    parts = model_id.rsplit("-", 3)
    if len(parts) == 4 and [len(part) for part in parts[1:]] == [4, 2, 2] and all(part.isdigit() for part in parts[1:]):
        return parts[0]
    return model_id


def _info(provider: str, row: _Row) -> ModelInfo:
    id, window, longest, input_usd, output_usd, read_usd, write_usd, abilities = row
    return ModelInfo(
        id=id,
        provider=provider,
        context_window=window,
        max_output_tokens=longest,
        input_usd=input_usd,
        output_usd=output_usd,
        cache_read_usd=read_usd,
        cache_write_usd=write_usd,
        tools="t" in abilities,
        images="i" in abilities,
        thinking="h" in abilities,
    )
