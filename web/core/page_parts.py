"""Independent parts of a page: one that fails shows its error, and the rest is shown."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from hub.core.errors import HubError
from hub.core.phrases import phrase


async def page_part(work: Awaitable[Any]) -> dict[str, Any]:
    """Return a part of the page as `shown`, or the `error` for which it cannot be shown."""
    try:
        return {"shown": await work, "error": ""}
    except HubError as error:
        return {"shown": None, "error": error.message}
    except OSError as error:
        return {"shown": None, "error": phrase("The disk cannot be read: {error}", error=error.strerror or error)}
