"""Configuration of `web_search`: which provider is asked, and with which key."""

from __future__ import annotations

from typing import Any

from hub.core.schema import All, In, Optional, Range, Schema, SchemaError, integer, positive_seconds, secret, url

KEYED = ("brave", "exa", "kagi", "tavily")
NAMES = ("duckduckgo", *KEYED, "searxng")
COUNT_LIMIT = 20


def _complete(config: dict[str, Any]) -> dict[str, Any]:
    provider = config["provider"]
    if provider in KEYED and "api_key" not in config:
        raise SchemaError(f"missing: the API key of {provider}, such as !secret {provider}_key", path=["api_key"])
    if provider == "searxng" and "url" not in config:
        raise SchemaError("missing: the address of your SearXNG", path=["url"])
    if provider == "duckduckgo" and "api_key" in config:
        raise SchemaError(f"duckduckgo has no keys; expected one of {', '.join(KEYED)}", path=["provider"])
    return config


CONFIG_SCHEMA = Schema(
    All(
        {
            Optional("provider", default="duckduckgo", description="The search engine that is asked."): In(NAMES),
            Optional("api_key", description="Its API key; duckduckgo has none."): secret,
            Optional("url", description="Where it answers, if not at its usual address; searxng needs one."): url,
            Optional("count", default=5, description="Results when the agent names no number."): All(
                integer, Range(min=1, max=COUNT_LIMIT)
            ),
            Optional("timeout", default=20, description="Time for one search."): All(positive_seconds, Range(max=120)),
            Optional("keep", default=900, description="Seconds for which results are kept; 0 keeps none."): All(
                integer, Range(min=0, max=86_400)
            ),
        },
        _complete,
    )
)
