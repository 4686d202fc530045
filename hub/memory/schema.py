"""Configuration of memory: `memory:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.config.checked import Config
from hub.config.sections import CheckReport, CrossCheck, Section
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    number,
    path,
    positive_seconds,
    secret,
    slug,
    string,
    url,
)
from hub.integration.catalog import engines
from hub.models.vendors import LITELLM_API

VENDORS = ("gemini", "voyage")
"""Vendors of embeddings that are found by their name and their keys; through litellm, as any other it knows."""
OWN_ENGINES = {
    "keywords": ("fts5",),
    "vectors": ("exact",),
    "embeddings": ("auto", "openai", *VENDORS, "local", "none"),
}
"""The engines, and who makes vectors, without an integration beside the memory itself; the first is the default."""
EXTRA_AREAS = ("private", "shared")

_SHARE = All(number, Range(min=0, max=1))

EMBEDDINGS_SCHEMA = {
    Optional(
        "provider",
        default=OWN_ENGINES["embeddings"][0],
        description="Who turns text into vectors. auto: the local model when its package is installed, else a key for "
        "OpenAI, Gemini or Voyage, else the server at base_url; none: search by words alone; litellm: any vendor "
        "that it knows, as model: vendor/model; or an integration.",
    ): slug,
    Optional(
        "base_url",
        description="A server that speaks OpenAI's API for embeddings (a llama.cpp server, Ollama, …), or the "
        "provider's API behind another address.",
    ): url,
    Optional("model", description="The provider's model; its usual one without it."): All(
        string, Length(min=1, max=256)
    ),
    Optional("api_key", description="The provider's key; else that of models.providers or the environment."): secret,
    Optional("dimensions", description="Length of the vectors, for models that offer several."): All(
        integer, Range(min=32, max=8_192)
    ),
    Optional("timeout", default=30, description="Seconds until a request is given up."): All(
        positive_seconds, Range(max=600)
    ),
    Optional("parallel", default=4, description="Requests at a time."): All(integer, Range(min=1, max=32)),
    Optional("cache", default=50_000, description="Vectors kept, so that the same text is never paid for twice."): All(
        integer, Range(min=0, max=1_000_000)
    ),
}
CHUNKS_SCHEMA = {
    Optional("tokens", default=200, description="About how long a passage is."): All(integer, Range(min=50, max=4_000)),
    Optional("overlap", default=40, description="How much of it the next one repeats."): All(
        integer, Range(min=0, max=1_000)
    ),
}
SEARCH_SCHEMA = {
    Optional("limit", default=6, description="Passages that are returned."): All(integer, Range(min=1, max=50)),
    Optional("vector_weight", default=0.6, description="Share of the cosine; the two are set in relation."): _SHARE,
    Optional("text_weight", default=0.4, description="Share of the strength by word."): _SHARE,
    Optional(
        "min_score", default=0.15, description="Least cosine of a passage that is not among the first by word."
    ): _SHARE,
    Optional(
        "half_life_days",
        default=30,
        description="Days after which a dated passage counts half; 0: it always counts whole.",
    ): All(number, Range(min=0, max=36_500)),
    Optional(
        "recency_least",
        default=0.7,
        description="What age leaves of a score at least; 0: it halves with every half-life, without end.",
    ): _SHARE,
    Optional("diversity", default=0.7, description="MMR's λ: 1 is relevance alone, less avoids repetition."): _SHARE,
}
RECALL_SCHEMA = {
    Optional("direct", default=True, description="Before a turn of a direct conversation."): boolean,
    Optional("groups", default=False, description="Before a turn in a group."): boolean,
    Optional("limit", default=3, description="Passages at most."): All(integer, Range(min=1, max=20)),
    Optional(
        "min_score", default=0.3, description="Least score of what is recalled unasked, its age left out."
    ): _SHARE,
    Optional("timeout", default=0.3, description="Seconds it may take; then the turn begins without."): All(
        positive_seconds, Range(max=10)
    ),
}
EXTRA_PATH_SCHEMA = AnyOf(
    path,
    {
        Required("path", description="A directory or a Markdown file."): path,
        Optional("name", description="How it is called in results: extra/<name>/…."): All(
            string, Length(min=1, max=64)
        ),
        Optional("trusted", default=False, description="Whether all of it was written by this home's people."): boolean,
        Optional("area", default="private", description="Who sees it: the owner, or everybody in this home."): In(
            list(EXTRA_AREAS)
        ),
    },
)

MEMORY_SCHEMA = Schema(
    {
        Optional("embeddings", default={}, description="How text becomes vectors."): EMBEDDINGS_SCHEMA,
        Optional(
            "vectors", default=OWN_ENGINES["vectors"][0], description="Engine for vectors: exact, or an integration's."
        ): slug,
        Optional(
            "keywords", default=OWN_ENGINES["keywords"][0], description="Engine for words: fts5, or an integration's."
        ): slug,
        Optional("chunks", default={}, description="How files are cut."): CHUNKS_SCHEMA,
        Optional("search", default={}, description="How passages are ranked."): SEARCH_SCHEMA,
        Optional(
            "citations",
            default="auto",
            description="Whether answers name the file and the lines they are from: on, off, or auto (not in groups).",
        ): In(["auto", "on", "off"]),
        Optional("recall", default={}, description="What is put before a turn unasked."): RECALL_SCHEMA,
        Optional("extra_paths", default=[], description="Further directories or Markdown files that are searched."): [
            EXTRA_PATH_SCHEMA
        ],
        Optional("transcripts", default=False, description="Whether conversations are searched too."): boolean,
    }
)


def engine_names(section: Mapping[str, Any]) -> dict[str, str]:
    """Return the configured name of each kind of engine; of a vendor of embeddings, who asks it."""
    provider = section["embeddings"]["provider"]
    return {
        "keywords": section["keywords"],
        "vectors": section["vectors"],
        "embeddings": LITELLM_API if provider in VENDORS else provider,
    }


SECTIONS = (Section("memory", MEMORY_SCHEMA, default={}, description="What is remembered, and how it is found"),)


def _engines_exist(config: Mapping[str, Any], report: CheckReport) -> None:
    """Report an engine that no integration has."""
    section = config.get("memory")
    if section is None:
        return
    for what, name in engine_names(section).items():
        if name in OWN_ENGINES[what]:
            continue
        known = [*OWN_ENGINES[what], *engines(what, config.home if isinstance(config, Config) else None)]
        if name not in known:
            keys = ("memory", what, "provider") if what == "embeddings" else ("memory", what)
            hint = did_you_mean(name, known, known=phrase("there are"))
            report.error(keys, phrase("there is no engine {name} for {what}", name=name, what=what), hint)


def _transcripts_are_files(config: Mapping[str, Any], report: CheckReport) -> None:
    """Report that conversations are to be searched by the memory where their transcripts are rows."""
    if (config.get("memory") or {}).get("transcripts") and (config.get("storage") or {}).get("postgresql"):
        told = phrase("the memory cannot search conversations that are in PostgreSQL (storage: postgresql)")
        report.error(("memory", "transcripts"), told, phrase("take it out; search in conversations finds them"))


CROSS_CHECKS: Mapping[str, CrossCheck] = {
    "memory engines": _engines_exist,
    "memory of conversations": _transcripts_are_files,
}
