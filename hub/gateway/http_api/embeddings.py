"""`POST /v1/embeddings`: vectors of texts, from the memory's embedding model."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from aiohttp import web

from hub.agent.agents import Agents
from hub.agent.conversation.window import estimate_text
from hub.core.errors import InvalidRequest, Unavailable
from hub.core.schema import ALLOW_EXTRA, All, AnyOf, In, Length, Optional, Required, Schema
from hub.core.surfaces import HttpCall, Route
from hub.gateway.connection.server import json_response
from hub.gateway.http_api.openai_shapes import post_route
from hub.memory.registry import Embed

TEXTS_LIMIT = 256
TEXT_CHARS = 100_000
_TEXT = All(str, Length(min=1, max=TEXT_CHARS))

REQUEST_SCHEMA = Schema(
    {
        Required("input"): AnyOf(
            _TEXT, All([_TEXT], Length(min=1, max=TEXTS_LIMIT)), msg=f"expected a text, or up to {TEXTS_LIMIT} texts"
        ),
        Optional("encoding_format", default="float"): AnyOf(None, In(["float", "base64"])),
        Optional("dimensions"): AnyOf(None, int),
    },
    extra=ALLOW_EXTRA,
)


class Embeddings:
    """Makes vectors.

    Args:
        agents: The default one's memory chooses the embedding model.
        embed: Returns what makes them; None when no memory does.
    """

    def __init__(self, agents: Agents, embed: Callable[[], Embed | None]) -> None:
        self._agents = agents
        self._embed = embed

    def routes(self) -> list[Route]:
        """Return the route."""
        return [post_route("/v1/embeddings", self.make, REQUEST_SCHEMA)]

    async def make(self, call: HttpCall) -> web.StreamResponse:
        """Answer with a vector for each text; `model` in the answer names the embedding model.

        Raises:
            Unavailable: Nobody makes vectors here, or not now.
            InvalidRequest: The vectors have another length than requested.
        """
        body, embed = call.body, self._embed()
        if embed is None:
            raise Unavailable("the memory of this hub has no embedding model")
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        model, vectors = await embed(self._agents.default().id, texts)
        asked = body.get("dimensions")
        if asked is not None and any(len(vector) != asked for vector in vectors):
            raise InvalidRequest(
                f"dimensions: expected {len(vectors[0])} for {model}",
                details={"param": "dimensions"},
            )
        packed = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
            for index, vector in enumerate(vectors)
        ]
        tokens = sum(map(estimate_text, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return json_response({"object": "list", "data": data, "model": model, "usage": usage})


def _packed(vector: Any) -> str:
    """Return a vector as 32-bit numbers in base64, which the `openai` package requests by default."""
    return b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
