"""The certificates that outgoing connections trust, read with the first of these instead of at start.

aiohttp reads them when it is imported. Where they are one file (`SSL_CERT_FILE`, Fedora, macOS) that takes a tenth of
the time of a start and 2.5 MB; a home whose model runs on its own network may never need them.
"""

from __future__ import annotations

import os
import ssl
from typing import Any


class LateCertificates(ssl.SSLContext):
    """A context as `ssl.create_default_context` makes it, but without certificates until its first connection."""

    _read = False

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """Begin a connection over memory, as asyncio does."""
        self._read_once()
        return super().wrap_bio(*arguments, **options)

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        """Begin a connection over a socket."""
        self._read_once()
        return super().wrap_socket(*arguments, **options)

    def _read_once(self) -> None:
        if not self._read:
            self.load_default_certs()
            self._read = True


def import_aiohttp() -> None:
    """Import aiohttp, with such a context for its connections; call it before anything else imports aiohttp."""
    eager, paths = (
        ssl.create_default_context,
        {name: os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")},
    )

    def late() -> ssl.SSLContext:
        context = LateCertificates(ssl.PROTOCOL_TLS_CLIENT)
        context.verify_flags = eager().verify_flags
        return context

    os.environ.update(dict.fromkeys(paths, os.devnull))
    ssl.create_default_context = late  # type: ignore[assignment]
    try:
        import aiohttp.connector  # noqa: F401
    finally:
        ssl.create_default_context = eager
        for name, value in paths.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value
