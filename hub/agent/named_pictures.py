"""Pictures of the workspace that a message names: shown to the model with it, as attachments are."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.executors import FILES
from hub.models.contract import Image
from hub.models.images import image_type
from hub.security.root import Root
from hub.tools.policy import needs_approval, refusal

if TYPE_CHECKING:
    from hub.agent.parts import RunDependencies
    from hub.agent.run_request import RunRequest
    from hub.agent.workspace.workspace import Workspaces

READ = "read"
"""The tool that shows a picture; who may not call it is shown none."""
PICTURES_LIMIT = 4
PICTURE_LIMIT_BYTES = 4 * 1024 * 1024

_SUFFIX = r"\.(?:png|jpe?g|gif|webp)"
_NAMED = re.compile(
    rf"""[`"'“‘「]([^`"'”’」\n]{{1,300}}{_SUFFIX})[`"'”’」]|([^\s`"'“”‘’「」()<>\[\]{{}},:;，。：；、]{{1,300}}{_SUFFIX})(?![\w/])""",
    re.IGNORECASE,
)


def named_pictures(text: str) -> list[str]:
    """Return the file names of pictures in a text, each once: in quotation marks, or words without spaces."""
    return list(dict.fromkeys(quoted or word for quoted, word in _NAMED.findall(text)))


async def with_named_pictures(parts: RunDependencies, request: RunRequest) -> RunRequest:
    """Return a request with the pictures that its message names, as far as its speaker may read them.

    A picture from outside is left to the tools, which know what it makes of the conversation.
    """
    names, tool = named_pictures(request.message.text), parts.tools.get(READ)
    agent, authority, key = parts.agents.get(request.agent_id), request.context.authority, request.session_key
    policies = agent.policies_in(key, authority, parts.tools.rules, None)
    if not names or tool is None or refusal(tool, authority, policies, parts.tools.rules) is not None:
        return request
    if parts.tools.confine(agent.id, key, authority).outside or needs_approval(tool, {}, authority) is not None:
        return request
    root = parts.workspaces.view(agent.id, key, authority)
    images = await FILES.run(_read, parts.workspaces, agent.id, root, names)
    return replace(request, message=replace(request.message, content=(*request.message.content, *images)))


def _read(workspaces: Workspaces, agent_id: str, root: Root, names: Sequence[str]) -> list[Image]:
    found: list[Image] = []
    for name in names[: 2 * PICTURES_LIMIT]:
        try:
            data = root.read_bytes(name.removeprefix(f"{root.path}/"), PICTURE_LIMIT_BYTES)
        except (HubError, OSError):
            continue  # it is a word only, or a picture elsewhere: the model reads it as it was written
        kind = image_type(data)
        if kind is not None and not workspaces.outside.holds(agent_id, data):
            found.append(Image(kind, base64.b64encode(data).decode()))
    return found[:PICTURES_LIMIT]
