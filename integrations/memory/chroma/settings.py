"""The connection to a Chroma store."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ChromaSettings:
    """The store's address, and the names of its collections.

    Attributes:
        url: Address of a Chroma server, such as `http://127.0.0.1:8000`; None keeps the store in the directory.
        token: The bearer token of the server.
        prefix: Begins the names of our collections on a server that others use too.
        timeout_s: After which an answer is not waited for any longer; what writes in this process may take longer.
    """

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    prefix: str = "homarus"
    timeout_s: float = 20.0
