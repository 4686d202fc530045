"""Checks a request before anyone sees it. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from hub.core.errors import InvalidRequest
from hub.security.redaction import Redactor
from hub.tools.approval import DIFF, Ask, binding_of

DETAILS_LIMIT_BYTES = 32_768
"""More than that cannot be shown whole in a chat, and what is not shown is not approved."""
TIMEOUT_LIMIT_S = 30 * 86_400.0
ID = re.compile(r"[A-Za-z0-9:_.-]{8,128}")

_KIND = re.compile(r"[a-z][a-z_]{0,31}")


def details_and_binding(ask: Ask, redactor: Redactor) -> tuple[dict[str, Any], str]:
    """Return the displayed details, and the binding of an answer.

    Raises:
        InvalidRequest: The question is malformed, or too large to be shown.
    """
    if not _KIND.fullmatch(ask.kind):
        raise InvalidRequest(f"{ask.kind[:40]!r} is no kind of approval; expected a-z and _")
    if ask.id is not None and not ID.fullmatch(ask.id):
        raise InvalidRequest("the id of an approval is 8 to 128 letters, digits, and : _ . -")
    if not 0 < ask.timeout_s <= TIMEOUT_LIMIT_S:
        raise InvalidRequest(f"an approval waits up to {TIMEOUT_LIMIT_S:g} s, not {ask.timeout_s:g} s")
    try:
        binding = binding_of(ask.kind, ask.details, ask.context.authority.principal)
        details: dict[str, Any] = json.loads(json.dumps(redactor.redact_data(ask.details)))
        exact = {key: value for key, value in details.items() if key != DIFF}
        size_bytes = len(json.dumps(exact, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"the request for approval is not plain data: {error}") from error
    if size_bytes > DETAILS_LIMIT_BYTES:
        raise InvalidRequest(
            f"this requires the owner's approval and is too large to be shown ({size_bytes} of at most "
            f"{DETAILS_LIMIT_BYTES} bytes); do it in smaller pieces"
        )
    return details, binding
