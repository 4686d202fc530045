"""A Chroma server by its address, over its HTTP API (v2). The chromadb package is not needed for that.

Its own client waits for an answer for ever; this one does not.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import orjson

from hub.memory.engine_contract import EngineUnavailable, IndexDamaged
from integrations.memory.chroma.collections import CONFIGURATION

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector, Vectors

API = "/api/v2"
DATABASE = f"{API}/tenants/default_tenant/databases/default_database"
PAGE = 5_000
MAX_ANSWER_BYTES = 256 << 20
BLOCK_BYTES = 1 << 20
SHOWN = 200


class ServerCollections:
    """See `Collections`.

    Args:
        url: Its address.
        token: The expected bearer token.
        timeout_s: After which an answer is not waited for any longer.

    Raises:
        EngineUnavailable: It does not answer, or does not know us.
    """

    def __init__(self, url: str, token: str | None, timeout_s: float) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EngineUnavailable(
                "chroma.url is not an address of a Chroma server; one looks like http://127.0.0.1:8000."
            )
        self._host, self._port, self._tls = parts.hostname, parts.port, parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._shown = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "") + self._path
        self._timeout_s = timeout_s
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection | None = None
        self._numbers: dict[str, str] = {}
        checks = self._asked("GET", f"{API}/pre-flight-checks")
        if not isinstance(checks, dict) or not isinstance(checks.get("max_batch_size"), int):
            self._strange()
        self.largest_batch = max(1, checks["max_batch_size"])

    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Return the metadata of each collection by its name."""
        found = self._asked("GET", f"{DATABASE}/collections")
        try:
            self._numbers = {str(each["name"]): str(each["id"]) for each in found}
            return {str(each["name"]): dict(each["metadata"] or {}) for each in found}
        except (TypeError, KeyError, ValueError):
            self._strange()

    def make(self, name: str, metadata: Mapping[str, str]) -> None:
        """Make a collection, if there is none with that name."""
        made = self._asked(
            "POST",
            f"{DATABASE}/collections",
            {"name": name, "metadata": dict(metadata), "configuration": CONFIGURATION, "get_or_create": True},
        )
        if not isinstance(made, dict) or "id" not in made:
            self._strange()
        self._numbers[name] = str(made["id"])

    def drop(self, name: str) -> None:
        """Delete a collection, if there is one with that name."""
        self._numbers.pop(name, None)
        with contextlib.suppress(IndexDamaged):
            self._asked("DELETE", f"{DATABASE}/collections/{name}")

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors, replacing those with the same ids."""
        self._in(name, "upsert", {"ids": list(ids), "embeddings": np.ascontiguousarray(vectors)})

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove vectors."""
        self._in(name, "delete", {"ids": list(ids)})

    def nearest(
        self, name: str, vector: Vector, limit: int, allowed: Collection[str] | None
    ) -> list[tuple[str, float]]:
        """Return ids and cosine distances."""
        found = self._in(
            name,
            "query",
            {
                "query_embeddings": vector[None, :],
                "n_results": limit,
                "include": ["distances"],
                **({} if allowed is None else {"ids": list(allowed)}),
            },
        )
        try:
            return [(str(id_), float(each)) for id_, each in zip(found["ids"][0], found["distances"][0], strict=True)]
        except (TypeError, KeyError, ValueError, IndexError):
            self._strange()

    def vectors(self, name: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors of those that are there."""
        found = self._in(name, "get", {"ids": list(ids), "include": ["embeddings"]})
        try:
            rows = [np.asarray(row, dtype=np.float32) for row in found["embeddings"]]
            return dict(zip(map(str, found["ids"]), rows, strict=True))
        except (TypeError, KeyError, ValueError):
            self._strange()

    def ids(self, name: str) -> list[str]:
        """Return all ids."""
        found: list[str] = []
        while True:
            page = self._in(name, "get", {"limit": PAGE, "offset": len(found), "include": []})
            if not isinstance(page, dict) or not isinstance(page.get("ids"), list):
                self._strange()
            if not page["ids"]:
                return found
            found += map(str, page["ids"])

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _in(self, name: str, what: str, body: Mapping[str, Any]) -> Any:
        return self._asked("POST", f"{DATABASE}/collections/{self._numbers[name]}/{what}", body)

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the server's answer.

        Raises:
            EngineUnavailable: It gives no answer that can be used.
            IndexDamaged: It does not know a collection of ours, or has other vectors in it.
        """
        content = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        status, answer = self._exchanged(method, self._path + path, content)
        if 200 <= status < 300:
            try:
                return json.loads(answer) if answer.strip() else None
            except ValueError:
                self._strange()
        said = answer[:SHOWN].decode(errors="replace").strip()
        if status in (401, 403):
            raise EngineUnavailable(
                f"The Chroma server at {self._shown} refuses access ({status}): chroma.token must be the "
                "token it was started with."
            )
        if body is not None and (status == 404 or (status == 400 and "dimension" in said.lower())):
            raise IndexDamaged(f"the Chroma server at {self._shown} lost a collection or holds another: {said}")
        if status == 404 and method == "DELETE":
            raise IndexDamaged(f"the Chroma server at {self._shown} does not know it: {said}")
        if status in (404, 410) or 300 <= status < 400:
            self._strange()
        raise EngineUnavailable(f"The Chroma server at {self._shown} answered {status}: {said}. See its log.")

    def _exchanged(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        """Send a request and return status and body; retried once if a kept connection was closed."""
        kept = self._connection is not None
        try:
            return self._sent(method, path, content)
        except (ConnectionError, http.client.RemoteDisconnected) as error:
            self.close()
            if not kept:
                self._away(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            self._away(error)
        try:
            return self._sent(method, path, content)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            self._away(error)

    def _sent(self, method: str, path: str, content: bytes | None) -> tuple[int, bytes]:
        until = time.monotonic() + self._timeout_s
        if self._connection is None:
            self._connection = (
                http.client.HTTPSConnection(
                    self._host, self._port, timeout=self._timeout_s, context=ssl.create_default_context()
                )
                if self._tls
                else http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
            )
        self._connection.request(method, path, body=content, headers=self._headers)
        response = self._connection.getresponse()
        blocks, size = [], 0
        while block := response.read1(BLOCK_BYTES):
            blocks.append(block)
            size += len(block)
            if size > MAX_ANSWER_BYTES:
                raise ValueError("its answer is too long")
            if time.monotonic() > until:
                raise TimeoutError("its answer takes too long")
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        # Otherwise the connection would wait for more of it.
        response.close()
        return response.status, b"".join(blocks)

    def _away(self, error: Exception) -> NoReturn:
        why = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            why = f"within {self._timeout_s:g} s: {why}"
        raise EngineUnavailable(
            f"The Chroma server at {self._shown} does not answer ({why}). Start it, or correct chroma.url."
        ) from error

    def _strange(self) -> NoReturn:
        raise EngineUnavailable(
            f"What answers at {self._shown} is not a Chroma server of version 1. Correct chroma.url."
        )
