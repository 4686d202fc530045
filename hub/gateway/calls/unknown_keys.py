"""Unknown keys from other clients: left out, unless one is a condition."""

from __future__ import annotations

import re
from typing import Any

from hub.core.errors import InvalidRequest
from hub.core.schema import Schema, SchemaError, each_error

EXTRA = "extra keys not allowed"
"""The schema library's message for a key that it does not know."""
PASSES_LIMIT = 10
"""A pass names at most 20 unknown keys; a request with more than ten passes' worth is refused as it is."""

_CONDITIONS = frozenset(
    {
        *("archivedOnly", "disableMessageTool", "elevatedLevel", "execAsk", "execHost", "execNode", "execSecurity"),
        *("forceRestartSafeTools", "fork", "forkFrom", "grantExpiresInDays", "incognito", "inheritedToolAllow"),
        *("inheritedToolDeny", "inheritedToolPolicyVersion", "internalExecutionIdentityRetry", "modelRun"),
        *("permissionMode", "promptMode", "reviewer", "scopes", "sessionEffects", "suppressCommandInterpretation"),
        *("suppressPromptPersistence", "toolBindings", "toolOverrides", "toolsAllow", "toolsDeny", "trigger"),
        *("worktree", "worktreeBaseRef", "worktreeName", "cwd", "execApprovalFollowupExpectedSessionId"),
        *(
            "contextWindow",
            "mediaUrl",
            "mediaUrls",
            "pacing",
            "swarmOutputSchema",
            "ttlMinutes",
            "visibility",
            "task",
            "message",
            "attachments",
            "threadId",
        ),
    }
)
"""Keys of the protocol that limit what is done, or say with which rights, on whom or for how long."""
_LIMITING = re.compile(
    r"expected|expir|allow|deny|only|require|restrict|confirm|dry_?[rR]un|read_?[oO]nly|if[A-Z_]|max(?:Uses|_uses)"
)
"""How keys begin that limit what is done, in any protocol."""


def known_part(method: str, schema: Schema, params: Any) -> tuple[Any, list[str]]:
    """Return the valid part of some parameters, and the paths of the keys that were left out.

    Args:
        method: The name of the method, for errors.
        schema: The method's schema.
        params: Decoded JSON that belongs to the caller of this; unknown keys are removed from it.

    Raises:
        InvalidRequest: One of the unknown keys is a condition: without it, more would be done than was requested.
        SchemaError: The rest does not fit.
    """
    left_out: list[str] = []
    for _ in range(PASSES_LIMIT):
        try:
            return schema(params), left_out
        except SchemaError as error:
            paths = [each.path for each in each_error(error) if each.msg == EXTRA]
            if not paths:
                raise
            for path in paths:
                left_out.append(_take_out(method, params, path))
    return schema(params), left_out


def _take_out(method: str, params: Any, path: list[Any]) -> str:
    holder = params
    for step in path[:-1]:
        holder = holder[step]
    shown = ".".join(map(str, path))[:200]
    if _is_condition(str(path[-1])) and not _says_nothing(holder[path[-1]]):
        raise InvalidRequest(
            f"{method}: {shown} is not supported, and the request is not carried out without it",
            details={"method": method, "key": shown},
        )
    del holder[path[-1]]
    return shown


def _is_condition(key: str) -> bool:
    return key in _CONDITIONS or _LIMITING.match(key) is not None


def _says_nothing(value: Any) -> bool:
    """Whether a condition with this value has no effect; zero is a valid number."""
    return value is None or value is False or value in ("", [], {})
