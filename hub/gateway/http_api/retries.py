"""Retried requests of `/v1`: with an `Idempotency-Key`, or an SDK's retry header."""

from __future__ import annotations

from hashlib import sha256

import orjson
from msgspec import Struct

from hub.core.errors import Conflict, InvalidRequest
from hub.core.surfaces import HttpCall
from hub.gateway.http_api.kept_runs import Answer, KeptRun

KEY_HEADER = "Idempotency-Key"
RETRY_HEADER = "x-stainless-retry-count"
"""What the SDKs of OpenAI and Anthropic send: how often they have sent this request before."""
KEY_LIMIT = 255


class RequestKey(Struct, frozen=True):
    """The key under which a request is remembered.

    Attributes:
        name: The name of the principal, the path, and the key or the body.
        keyed: Whether the client gave a key.
        again: Whether the client says that it sent the request before.
    """

    name: str
    keyed: bool
    again: bool


def request_hash(call: HttpCall) -> str:
    """Return a hash of a request's body."""
    return sha256(orjson.dumps(call.body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def request_key(call: HttpCall, hashed: str) -> RequestKey | None:
    """Return the key of a request; None for a client that does not retry.

    Raises:
        InvalidRequest: The key is too long.
    """
    headers = call.request.headers
    where = f"{call.known_caller.authority.principal} {call.request.path.rstrip('/')}"
    if key := headers.get(KEY_HEADER):
        if len(key) > KEY_LIMIT:
            raise InvalidRequest(f"{KEY_HEADER}: expected at most {KEY_LIMIT} characters")
        return RequestKey(f"{where} key {key}", keyed=True, again=False)
    count = headers.get(RETRY_HEADER)
    return None if count is None else RequestKey(f"{where} body {hashed}", keyed=False, again=count != "0")


def repeat_answer(run: KeptRun, hashed: str) -> Answer:
    """Return the answer of the first request with a key.

    Raises:
        InvalidRequest: That was another request.
        Conflict: It was cut off.
    """
    if run.request_hash != hashed:
        raise InvalidRequest(f"{KEY_HEADER}: it was used before with another request")
    if run.answer is None:
        raise Conflict(
            f"the hub stopped while it answered this request; see what was done, and repeat it with a new {KEY_HEADER}"
        )
    return run.answer
