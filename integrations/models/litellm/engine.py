"""Vectors of the vendors that litellm knows, for the memory, in the process of its index, which loads litellm."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from hub.core.extras import install_command
from hub.core.secret import Secret
from hub.memory.engine_contract import EmbeddedTexts, EmbeddingRefused, EngineMissing
from hub.models.classify import clean_message
from integrations.models.litellm.faults import read_refusal, requested_wait_s
from integrations.models.litellm.library import PACKAGE, import_litellm

# How a vendor is told whether a text is searched for; the others make the same vector of both.
_ROLES: Mapping[str, tuple[dict[str, str], dict[str, str]]] = {
    "gemini": ({"task_type": "RETRIEVAL_DOCUMENT"}, {"task_type": "RETRIEVAL_QUERY"}),
    "voyage": ({"input_type": "document"}, {"input_type": "query"}),
}
# Gemini's second generation is told in words before the text.
_IN_WORDS = ("gemini-embedding-2", "title: none | text: ", "task: search result | query: ")
# litellm takes such a text for the name of a file, which it would fetch.
_LIKE_A_FILE = re.compile(r"files/|data:|\w+://")


def open_embeddings(settings: Mapping[str, Any]) -> LitellmEmbeddings:
    """Return a vendor's model; see `EngineModule.open_embeddings`.

    Args:
        settings: `vendor`, `model`, `api_key`, `base_url`, `dimensions` and `timeout_s`; not from the configuration of
            this integration, but from that of the memory.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise EngineMissing(f"{PACKAGE} is not installed; run: {install_command(PACKAGE)}.")
    return LitellmEmbeddings(**settings)


class LitellmEmbeddings:
    """Asks one model of one vendor.

    Args:
        vendor: Its name as litellm knows it.
        model: The model there.
        api_key: Its key; None when litellm finds it itself.
        base_url: Another address than the vendor's.
        dimensions: The length asked for; None for the usual one.
        timeout_s: Seconds until a request is given up.
    """

    def __init__(
        self,
        vendor: str,
        model: str,
        api_key: str | None,
        base_url: str | None,
        dimensions: int | None,
        timeout_s: float,
    ) -> None:
        self.model = model
        self.dimensions = dimensions or 0
        self._vendor = vendor
        password = urlsplit(base_url).password if base_url else None
        self._secrets = tuple(Secret(each) for each in (api_key, password) if each)
        # Begun now: whoever rests until somebody asks has it by then.
        loader = ThreadPoolExecutor(1, thread_name_prefix=PACKAGE)
        self._litellm: Future[Any] = loader.submit(import_litellm)
        loader.shutdown(wait=False)
        given = {"api_key": api_key, "api_base": base_url, "dimensions": dimensions}
        self._arguments = {
            "model": f"{vendor}/{model}",
            "timeout": timeout_s,
            # Repeating is decided above, the same for every provider.
            "num_retries": 0,
            "max_retries": 0,
            **{name: value for name, value in given.items() if value is not None},
        }

    async def embed(self, texts: Sequence[str], *, query: bool) -> EmbeddedTexts:
        """See `EmbeddingModel.embed`."""
        litellm = await asyncio.wrap_future(self._litellm)
        in_words, *words = _IN_WORDS
        if self.model.startswith(in_words):
            role: dict[str, str] = {}
            sent = [f"{words[query]}{text}" for text in texts]
        else:
            role = _ROLES.get(self._vendor, ({}, {}))[query]
            sent = [f" {text}" if _LIKE_A_FILE.match(text) else text for text in texts]
        try:
            answer = await litellm.aembedding(**self._arguments, **role, input=sent)
            rows = [entry["embedding"] for entry in sorted(answer.data, key=lambda entry: int(entry["index"]))]
        except Exception as error:  # litellm raises what vendors' libraries raise
            status, said = read_refusal(error)
            wait_s = requested_wait_s(error, said, time.time())
            raise EmbeddingRefused(status, clean_message(said, self._secrets), retry_after_s=wait_s) from error
        usage = getattr(answer, "usage", None)
        # It is 0 where the vendor says nothing.
        return EmbeddedTexts(rows, getattr(usage, "prompt_tokens", None) or None)

    async def close(self) -> None:
        """See `EmbeddingModel.close`."""
        if self._litellm.done() and self._litellm.exception() is None:
            await self._litellm.result().close_litellm_async_clients()
