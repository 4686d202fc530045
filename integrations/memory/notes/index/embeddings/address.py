"""The address of a provider. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from hub.core.secret import Secret


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address as it is called, and as it may be shown: without user, password and query."""

    base_url: str

    def endpoint(self, path: str) -> str:
        """Return the address of an endpoint, which may have a query; one in the base is kept."""
        parts = urlsplit(self.base_url)
        path, _, query = path.partition("?")
        query = "&".join(filter(None, (parts.query, query)))
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{path}", query=query, fragment=""))

    @property
    def shown(self) -> str:
        """For people, logs and fingerprints."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
        try:
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            port = ""
        return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The parts that must not be repeated."""
        parts = urlsplit(self.base_url)
        values = [parts.password, parts.username, *(value for _, value in parse_qsl(parts.query))]
        return tuple(Secret(value) for value in values if value and len(value) > 3)

    @property
    def host(self) -> str:
        """The name of the machine."""
        return (urlsplit(self.base_url).hostname or "").lower()
