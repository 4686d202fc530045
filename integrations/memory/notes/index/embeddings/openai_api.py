"""OpenAI's API for embeddings, as OpenAI and its imitators implement it: Ollama, llama.cpp, vLLM, LM Studio."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from hub.core.secret import Secret
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.client import Client
from integrations.memory.notes.index.embeddings.provider import (
    EmbeddingBatch,
    EmbeddingRole,
    Fault,
    Limits,
    ProviderFailed,
)

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
DEFAULT_MODEL = "text-embedding-3-small"
DIMENSIONS = {"text-embedding-3-small": 1_536, "text-embedding-3-large": 3_072, "text-embedding-ada-002": 1_536}

# OpenAI takes 2,048 inputs and 300,000 tokens; less of both, so that an answer stays small and an estimate may err.
_OPENAI_LIMITS = Limits(texts=512, tokens=240_000)
_SERVER_LIMITS = Limits(texts=64, tokens=60_000)
_LOOKS_LIKE_EMBEDDINGS = re.compile(
    r"embed|minilm|mpnet|\bbge\b|bge-|\be5\b|e5-|\bgte\b|gte-|nomic|mxbai|jina|arctic|text2vec|m3e", re.IGNORECASE
)
_MODELS_LIMIT = 1_000
_CHOICE_LIMIT = 100
"""A server with more models than these is a market, where somebody has to choose."""


class OpenAI:
    """Speaks `/embeddings` to one server.

    Args:
        name: The name as people know it.
        where: Its address, usually ending in `/v1`; without that, `/v1` is tried when the server knows nothing else.
        model: The requested model.
        key: Sent as a bearer token when there is one.
        dimensions: Sent when it is given.
        timeout_s: The timeout of a request.
    """

    def __init__(
        self,
        name: str,
        where: Endpoint,
        model: str,
        key: Secret | None,
        dimensions: int | None,
        *,
        timeout_s: float,
    ) -> None:
        self.at_openai = where.host == OPENAI_HOST
        self.priced = self.at_openai
        self.limits = _OPENAI_LIMITS if self.at_openai else _SERVER_LIMITS
        usual = DIMENSIONS.get(model) if self.at_openai else None
        self.id = EmbedderId("openai", model, where.shown, dimensions or usual)
        self.client = Client(name, model, where, bearer(key), (key,) if key else (), timeout_s=timeout_s)
        self.length = dimensions
        self._prefix = ""
        self._base64 = True

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """See `Provider.embed`; what the server does not know (base64, `/v1`) is left out from then on."""
        while True:
            try:
                answer = await self.client.post(self.endpoint("embeddings"), self._body(texts, role))
            except ProviderFailed as error:
                if not self._adapt(error):
                    raise
                continue
            return EmbeddingBatch(rows_of(self.client, answer, len(texts)), tokens_of(answer))

    def endpoint(self, path: str) -> str:
        """Return the address of an endpoint beside `/embeddings`."""
        return self.client.where.endpoint(f"{self._prefix}{path}")

    async def close(self) -> None:
        """See `Provider.close`."""
        await self.client.close()

    def _body(self, texts: Sequence[str], role: EmbeddingRole) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.id.model, "input": list(texts)}
        if self._base64:
            body["encoding_format"] = "base64"
        if self.length is not None:
            body["dimensions"] = self.length
        return body

    def _adapt(self, error: ProviderFailed) -> bool:
        """Leave out what was refused; False if nothing can be left out."""
        if error.fault is not Fault.REFUSED and not (error.fault is Fault.BUSY and "base64" in error.said):
            return False
        if self._base64 and re.search(r"encoding_format|base64|extra (?:fields|inputs)|unrecognized", error.said):
            self._base64 = False
            return True
        if self.length is not None and re.search(r"dimension|matryoshka", error.said, re.IGNORECASE):
            raise self.client.failure(
                Fault.MODEL,
                f"has no vectors of {self.length} numbers for {self.id.model}; change or remove "
                f"memory.embeddings.dimensions ({error.said})",
            ) from error
        if not self._prefix and "404" in str(error) and not _ends_in_version(self.client.where):
            self._prefix = "v1/"
            return True
        return False


async def find_model(client: Client) -> tuple[str | None, list[str]]:
    """Ask a server which model it has for embeddings; return it, or None with all names it lists.

    Args:
        client: Speaks to the server.

    Raises:
        ProviderFailed: The server cannot be asked.
    """
    try:
        answer = await client.call("GET", client.where.endpoint("models"))
    except ProviderFailed as error:
        if error.fault is not Fault.REFUSED or _ends_in_version(client.where):
            raise
        answer = await client.call("GET", client.where.endpoint("v1/models"))
    entries = answer.get("data", answer.get("models")) if isinstance(answer, dict) else answer
    if not isinstance(entries, list):
        return None, []
    names = [
        name
        for entry in entries[:_MODELS_LIMIT]
        if isinstance(entry, dict) and isinstance(name := entry.get("id") or entry.get("name"), str) and name
    ]
    if len(names) == 1:
        return names[0], names
    if len(names) > _CHOICE_LIMIT:
        return None, names
    return next((name for name in sorted(names) if _LOOKS_LIKE_EMBEDDINGS.search(name)), None), names


def bearer(key: Secret | None) -> dict[str, str]:
    """Return the header that carries a key."""
    return {"Authorization": f"Bearer {key.reveal()}"} if key else {}


def rows_of(client: Client, answer: Any, count: int) -> list[Any]:
    """Return the rows of an answer in the order of the request, by their `index`.

    Raises:
        ProviderFailed: There are more or fewer than requested, or some twice.
    """
    entries = answer.get("data") if isinstance(answer, dict) else answer
    if isinstance(answer, dict) and entries is None:
        entries = answer.get("embeddings")
    if not isinstance(entries, list):
        raise client.failure(Fault.NONSENSE, f"at {client.where.shown} sent no vectors; is it a server for embeddings?")
    if len(entries) != count:
        raise client.failure(Fault.NONSENSE, f"sent {len(entries)} vectors for {count} texts")
    rows: list[Any] = [None] * count
    seen: set[int] = set()
    for position, entry in enumerate(entries):
        index = entry.get("index", position) if isinstance(entry, dict) else position
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count or index in seen:
            raise client.failure(Fault.NONSENSE, f"numbers its vectors wrongly ({str(index)[:40]} of {count})")
        seen.add(index)
        rows[index] = entry.get("embedding") if isinstance(entry, dict) else entry
    return rows


def tokens_of(answer: Any) -> int | None:
    """Return the tokens reported in an answer."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    for name in ("prompt_tokens", "total_tokens"):
        value = usage.get(name) if isinstance(usage, dict) else None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
            return value
    return None


def _ends_in_version(where: Endpoint) -> bool:
    return re.search(r"/v\d+\w*/?$", urlsplit(where.base_url).path) is not None
