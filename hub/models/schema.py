"""The `models:` section: which model is the default, other names for models, fallbacks, providers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hub.config.sections import CheckReport, CrossCheck, Section
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    Coerce,
    Described,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    number,
    positive_seconds,
    secret,
    slug,
    string,
    url,
)
from hub.core.secret import Secret
from hub.models.contract import AUTO, DEFAULT_TIMEOUT_S
from hub.models.provider_config import CACHE_TTLS, DEFAULT_CREDENTIAL
from hub.models.selection import doubtful_references, doubts

DEFAULT_ATTEMPTS = 3
DEFAULT_MAX_WAIT_S = 30.0
PROVIDERS_LIMIT = 100
MODELS_LIMIT = 1_000
CREDENTIALS_LIMIT = 20
CONTEXT_WINDOW_MIN = 1_024
CONTEXT_WINDOW_MAX = 100_000_000

_REF = re.compile(r"^[^\s\x00-\x1f\x7f]{1,256}$")
_HEADER = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")


def _model_ref(value: Any) -> str:
    if isinstance(value, str) and _REF.match(value):
        return value
    raise Invalid(phrase("expected a model such as auto, provider/model or the name of an alias"))


def _header_name(value: Any) -> str:
    if isinstance(value, str) and _HEADER.match(value):
        return value
    raise Invalid(phrase("expected the name of an HTTP header, got {value}", value=repr(value)))


def _header_value(value: Any) -> Secret:
    held = value if isinstance(value, Secret) else Secret(string(value))
    text = held.reveal()
    if not text.isprintable() or not text.isascii():
        raise Invalid(phrase("expected a header's value: printable ASCII in one line"))
    return held


def _distinct(credentials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = [each["id"] for each in credentials]
    for place, id in enumerate(ids):
        if id == DEFAULT_CREDENTIAL:
            raise Invalid(
                phrase("{name} is the name of api_key; give this one another", name=DEFAULT_CREDENTIAL),
                path=[place, "id"],
            )
        if id in ids[:place]:
            raise Invalid(phrase("the id {id} is used twice", id=id), path=[place, "id"])
    return credentials


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


def _as_model(value: Any) -> Any:
    return {"id": value} if isinstance(value, str) else value


model_ref = Described(_model_ref, {"type": "string", "pattern": _REF.pattern}, "model")
_header = Described(_header_name, {"type": "string"}, "header name")
_header_text = Described(_header_value, {"type": "string", "writeOnly": True}, "header value")
_or_nothing = Described(_or_empty, {}, "mapping")
_model_or_id = Described(_as_model, {}, "model or its id")

_price = All(number, Range(min=0, max=1_000_000))
_tokens = All(integer, Range(min=1, max=CONTEXT_WINDOW_MAX))

COST_SCHEMA = {
    Required("input", description="US dollars per million input tokens"): _price,
    Required("output", description="US dollars per million output tokens"): _price,
    Optional("cache_read", description="US dollars per million tokens read from the provider's cache"): _price,
    Optional("cache_write", description="US dollars per million tokens written to the provider's cache"): _price,
}

MODEL_SCHEMA = {
    Required("id", description="The model's id as the provider knows it"): model_ref,
    Optional("name", description="Its name for people"): string,
    Optional("context_window", description="Tokens in and out together"): All(
        integer, Range(min=CONTEXT_WINDOW_MIN, max=CONTEXT_WINDOW_MAX)
    ),
    Optional("max_output_tokens", description="Bound on one answer"): _tokens,
    Optional("cost", description="Prices, where the catalog does not know them or is wrong"): COST_SCHEMA,
    Optional("tools", description="Whether it can call tools"): boolean,
    Optional("images", description="Whether it sees images"): boolean,
    Optional("thinking", description="Whether it can think before it answers"): boolean,
    Optional("final_tags", description="In place of the provider's"): boolean,
    Optional("params", description="Further parameters, sent unchanged"): {string: object},
}

_TCP = re.compile(r"tcp://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}/?\Z")


def _service(value: Any) -> str:
    return value.rstrip("/") if isinstance(value, str) and _TCP.match(value) else url(value)


_address = Described(_service, {"type": "string", "format": "uri"}, "URL")

PROVIDER_SCHEMA = {
    Optional(
        "api", description="openai for any OpenAI-compatible server; else a vendor's name as litellm knows it"
    ): slug,
    Optional(
        "base_url", description="Where it listens, such as http://127.0.0.1:8000/v1; tcp://host:port for wyoming"
    ): _address,
    Optional("api_key", description="The key, best given as !secret NAME"): secret,
    Optional("credentials", description="Further keys, used in order when those before them cool down"): All(
        [
            {
                Required("id", description="Its name, for NAME@CREDENTIAL and agents[].credentials"): slug,
                Required("api_key", description="The key, best given as !secret NAME"): secret,
            }
        ],
        Length(max=CREDENTIALS_LIMIT),
        _distinct,
    ),
    Optional(
        "rotate_credentials", description="Spread sessions over the keys, instead of using the first that works"
    ): boolean,
    Optional("oauth", description="Where one signs in, with `homarus models auth login`"): {
        Required("authorize_url", description="The page to open"): url,
        Required("token_url", description="Where tokens are given"): url,
        Required("client_id", description="Of the application"): string,
        Optional("scope", description="What is asked for"): string,
        Optional("redirect_url", description="Where the page leads back to, on this machine"): url,
        Optional("extra", description="Further parameters of the page"): {string: string},
        Optional("api_key_exchange", description="Whether who signs in is given an API key, as at OpenAI"): boolean,
    },
    Optional("headers", description="Further headers of every request"): {_header: _header_text},
    Optional("models", description="The models to offer; the first is this provider's default"): All(
        [All(_model_or_id, MODEL_SCHEMA)], Length(max=MODELS_LIMIT)
    ),
    Optional(
        "timeout_s", default=DEFAULT_TIMEOUT_S, description="Seconds until the first event, then between two"
    ): All(positive_seconds, Range(max=3_600)),
    Optional("proxy", description="HTTP proxy to reach it through; the environment's proxies are not used"): url,
    Optional(
        "cache_ttl",
        default=AUTO,
        description="How long Claude keeps a conversation in its cache: 5m, or 1h, which costs twice the price of its "
        "input in place of 1.25 times; auto: 1h with an API key at Anthropic itself, 5m elsewhere",
    ): In([AUTO, *CACHE_TTLS]),
    Optional(
        "final_tags",
        description="Whether its models are told to answer between <final> and </final>, and all else they write is "
        "thinking; for servers that do not tell the two apart",
    ): boolean,
    Optional("params", description="Further parameters of every call, sent unchanged"): {string: object},
}

MODELS_SCHEMA = Schema(
    {
        Optional(
            "default",
            default=AUTO,
            description="auto: a configured key, else a key in the environment, else a local Ollama, else offline",
        ): model_ref,
        Optional("aliases", default=dict, description="Other names for models"): All(
            _or_nothing, {Coerce(str): model_ref}
        ),
        Optional("fallbacks", default=list, description="Models to try, in order, when the chosen one fails"): All(
            [model_ref], Length(max=20)
        ),
        Optional("providers", default=dict, description="Those who run models, by the name used before the slash"): All(
            _or_nothing, {slug: All(_or_nothing, PROVIDER_SCHEMA)}, Length(max=PROVIDERS_LIMIT)
        ),
        Optional("retry", default=dict, description="How failed calls are repeated"): All(
            _or_nothing,
            {
                Optional(
                    "attempts", default=DEFAULT_ATTEMPTS, description="Calls of one model, the first included"
                ): All(integer, Range(min=1, max=10)),
                Optional(
                    "max_wait_s",
                    default=DEFAULT_MAX_WAIT_S,
                    description="The longest wait for the same model; if it asks for more, the next one is tried",
                ): All(AnyOf(0, positive_seconds), Range(max=600)),
            },
        ),
    }
)

SECTIONS = (
    Section(
        "models",
        MODELS_SCHEMA,
        critical=True,
        default={},
        description="Models and those who run them",
        entries="providers",
    ),
)


PLACES = (
    ("agents", "*", "model"),
    ("agents", "*", "subagents", "model"),
    ("budgets", "*", "model"),
    ("messages", "media", "transcription_model"),
    ("tools", "image_model"),
)
"""Where the hub's sections name a model, outside `models:`; a test compares them with the schemas."""


def check_references(config: Any, report: CheckReport) -> None:
    """Warn of unknown models, wherever one is named; not an error, since a key may come from the environment."""
    for keys, message in doubtful_references(_section_of(config), integrations=config):
        report.warning(keys, message)
    models_at(*PLACES)(config, report)


def doubts_of(config: Any) -> Callable[[str], str | None]:
    """Return a function that explains why a reference is unknown in a checked configuration; see `doubts`."""
    return doubts(_section_of(config), config)


def _section_of(config: Any) -> Mapping[str, Any]:
    section: Mapping[str, Any] = config.get("models") or MODELS_SCHEMA({})
    return section


def models_at(*places: Sequence[str]) -> CrossCheck:
    """Return the check that the models named at these places are known; `*` is any item of a list."""

    def check(config: Any, report: CheckReport) -> None:
        doubt = doubts_of(config)
        for place in places:
            for keys, ref in values_at(config, place):
                if (message := doubt(ref)) is not None:
                    report.warning(keys, message)

    return check


def values_at(
    value: Any, place: Sequence[str], keys: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts at a place of a configuration, with their keys; `*` is any item of a list."""
    if not place:
        if isinstance(value, str):
            yield keys, value
    elif place[0] == "*":
        for index, each in enumerate(value if isinstance(value, list) else ()):
            yield from values_at(each, place[1:], (*keys, index))
    elif isinstance(value, Mapping):
        yield from values_at(value.get(place[0]), place[1:], (*keys, place[0]))


CROSS_CHECKS = {"models": check_references}
