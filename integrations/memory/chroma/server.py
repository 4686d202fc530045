"""A Chroma server by its address, over its HTTP API (v2). The chromadb package is not needed for that.

Its own client waits for an answer for ever; this one does not.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import orjson

from hub.memory.engine_contract import EngineUnavailable, IndexDamaged
from integrations.memory.chroma.collections import CONFIGURATION
from integrations.memory.chroma.connection import ServerConnection, connection_to

if TYPE_CHECKING:
    from hub.memory.engine_contract import Vector, Vectors

API = "/api/v2"
DATABASES = f"{API}/tenants/default_tenant/databases"
PAGE = 5_000
READ_SHARE = 0.25
"""Of the time limit, what a search waits: all homes of a process wait with it."""
SHOWN = 200


class ServerCollections:
    """See `Collections`.

    Args:
        url: Its address.
        token: The expected bearer token.
        timeout_s: After which an answer is not waited for any longer, when something is written.
        database: The name of the database that is ours alone, so that nobody is told of the collections of others.

    Raises:
        EngineUnavailable: It does not answer, or does not know us.
    """

    def __init__(self, url: str, token: str | None, timeout_s: float, database: str) -> None:
        self._database = f"{DATABASES}/{database}"
        self._name = database
        self._write_s, self._read_s = timeout_s, timeout_s * READ_SHARE
        self._numbers: dict[str, str] = {}
        self._server: ServerConnection | None = connection_to(url, token)
        try:
            checks = self._asked("GET", f"{API}/pre-flight-checks")
            if not isinstance(checks, dict) or not isinstance(checks.get("max_batch_size"), int):
                self._strange()
            self.largest_batch = max(1, checks["max_batch_size"])
            self._is_made = self._asked("GET", self._database, missing=True) is not None
        except BaseException:
            self.close()
            raise

    def names(self) -> Mapping[str, Mapping[str, str]]:
        """Return the metadata of each collection by its name."""
        if not self._is_made:
            return {}
        found = self._asked("GET", f"{self._database}/collections")
        try:
            self._numbers = {str(each["name"]): str(each["id"]) for each in found}
            return {str(each["name"]): dict(each["metadata"] or {}) for each in found}
        except (TypeError, KeyError, ValueError):
            self._strange()

    def make(self, name: str, metadata: Mapping[str, str]) -> None:
        """Make a collection, if there is none with that name."""
        if not self._is_made:
            self._asked("POST", DATABASES, {"name": self._name})
            self._is_made = True
        made = self._asked(
            "POST",
            f"{self._database}/collections",
            {"name": name, "metadata": dict(metadata), "configuration": CONFIGURATION, "get_or_create": True},
        )
        if not isinstance(made, dict) or "id" not in made:
            self._strange()
        self._numbers[name] = str(made["id"])

    def drop(self, name: str) -> None:
        """Delete a collection, if there is one with that name."""
        self._numbers.pop(name, None)
        self._asked("DELETE", f"{self._database}/collections/{name}", missing=True)

    def destroy(self) -> None:
        """Delete all collections, and the database that they are in."""
        for name in self.names():
            self.drop(name)
        self._asked("DELETE", self._database, missing=True)
        self._is_made = False

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
        """Give the connection up; a second call does no harm."""
        server, self._server = self._server, None
        if server is not None:
            server.leave()

    def _in(self, name: str, what: str, body: Mapping[str, Any]) -> Any:
        return self._asked("POST", f"{self._database}/collections/{self._numbers[name]}/{what}", body)

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, missing: bool = False) -> Any:
        """Return the server's answer; None instead of 404 where something may be `missing`.

        Raises:
            EngineUnavailable: It gives no answer that can be used.
            IndexDamaged: It does not know a collection of ours, or has other vectors in it.
        """
        content = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        limit_s = self._read_s if path.endswith(("/query", "/get")) or method == "GET" else self._write_s
        status, answer = self._connection.exchange(method, path, content, limit_s)
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
        if missing and status == 404:
            return None
        if body is not None and (status == 404 or (status == 400 and "dimension" in said.lower())):
            raise IndexDamaged(f"the Chroma server at {self._shown} lost a collection or holds another: {said}")
        if status in (404, 410) or 300 <= status < 400:
            self._strange()
        raise EngineUnavailable(f"The Chroma server at {self._shown} answered {status}: {said}. See its log.")

    @property
    def _connection(self) -> ServerConnection:
        if self._server is None:
            raise EngineUnavailable("the connection to the Chroma server was closed")
        return self._server

    @property
    def _shown(self) -> str:
        return self._connection.shown

    def _strange(self) -> NoReturn:
        raise EngineUnavailable(
            f"What answers at {self._shown} is not a Chroma server of version 1. Correct chroma.url."
        )
