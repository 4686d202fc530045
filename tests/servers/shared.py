"""Servers that take seconds to start: one of each for all tests of this process, started by the first that needs it."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache

from tests.servers.mail_server import Dovecot
from tests.servers.ngircd import Ngircd
from tests.servers.postgresql import PostgresqlServer
from tests.servers.prosody import Prosody
from tests.servers.synapse import Synapse

_RUNNING = ExitStack()


@cache
def synapse() -> Synapse:
    """A Matrix homeserver."""
    return _RUNNING.enter_context(Synapse())


@cache
def ngircd() -> Ngircd:
    """An IRC server."""
    return _RUNNING.enter_context(Ngircd())


@cache
def prosody() -> Prosody:
    """An XMPP server."""
    return _RUNNING.enter_context(Prosody())


@cache
def postgresql() -> PostgresqlServer:
    """A database server."""
    return _RUNNING.enter_context(PostgresqlServer())


@cache
def dovecot() -> Dovecot:
    """A mail server."""
    return _RUNNING.enter_context(Dovecot())


def stop() -> None:
    """Stop those that run, at the end."""
    _RUNNING.close()
