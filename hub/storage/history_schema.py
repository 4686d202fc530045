"""The schema of history.db, as numbered migrations. Everything in it may be lost without harm."""

from __future__ import annotations

import sqlite3

_FIRST = (
    """CREATE TABLE events(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, type TEXT NOT NULL, context_id TEXT,
        data TEXT NOT NULL)""",
    """CREATE INDEX events_time ON events(time_ms)""",
    """CREATE INDEX events_type ON events(type, time_ms)""",
    """CREATE TABLE states(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, entity_id TEXT NOT NULL, state TEXT,
        attributes TEXT, context_id TEXT)""",
    """CREATE INDEX states_time ON states(time_ms)""",
    """CREATE INDEX states_entity ON states(entity_id, time_ms)""",
    """CREATE TABLE usage(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, agent_id TEXT NOT NULL, session_key TEXT,
        run_id TEXT, model TEXT, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL, cost_usd REAL)""",
    """CREATE INDEX usage_time ON usage(time_ms)""",
)


def first(connection: sqlite3.Connection) -> None:
    """Make the tables of the first version."""
    for statement in _FIRST:
        connection.execute(statement)


_SECOND = (
    """CREATE TABLE traces(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, run_id TEXT NOT NULL UNIQUE,
        automation_id TEXT NOT NULL, outcome TEXT NOT NULL, imported INTEGER NOT NULL, data TEXT NOT NULL)""",
    """CREATE INDEX traces_time ON traces(time_ms)""",
    """CREATE INDEX traces_automation ON traces(automation_id, outcome, id)""",
    """CREATE TABLE not_run(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, automation_id TEXT NOT NULL,
        reason TEXT NOT NULL, data TEXT NOT NULL)""",
    """CREATE INDEX not_run_time ON not_run(time_ms)""",
    """CREATE INDEX not_run_automation ON not_run(automation_id, reason, id)""",
)


def second(connection: sqlite3.Connection) -> None:
    """Make the tables of traces, and of triggers that fired while nothing ran."""
    for statement in _SECOND:
        connection.execute(statement)


_THIRD = (
    """CREATE TABLE run_traces(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, run_id TEXT NOT NULL UNIQUE,
        data TEXT NOT NULL)""",
    """CREATE INDEX run_traces_time ON run_traces(time_ms)""",
)


def third(connection: sqlite3.Connection) -> None:
    """Make the table of traces of agents' runs."""
    for statement in _THIRD:
        connection.execute(statement)


_FOURTH = (
    """ALTER TABLE events ADD COLUMN parent_id TEXT""",
    """ALTER TABLE events ADD COLUMN noted INTEGER NOT NULL DEFAULT 0""",
    """UPDATE events SET noted = 1 WHERE type IN ('automation_triggered', 'hub_started', 'config_changed',
        'config_refused', 'budget_reached', 'message_dead', 'pairing_decided')""",
    """CREATE INDEX events_noted ON events(id) WHERE noted = 1""",
    """CREATE INDEX events_context ON events(context_id)""",
    """CREATE INDEX events_parent ON events(parent_id) WHERE parent_id IS NOT NULL""",
    """ALTER TABLE states ADD COLUMN noted INTEGER NOT NULL DEFAULT 0""",
    """ALTER TABLE states ADD COLUMN before TEXT""",
    """ALTER TABLE states ADD COLUMN parent_id TEXT""",
    """ALTER TABLE states ADD COLUMN principal TEXT""",
    """ALTER TABLE states ADD COLUMN person TEXT""",
    """CREATE INDEX states_noted ON states(id) WHERE noted = 1""",
    """CREATE INDEX states_noted_entity ON states(entity_id, id) WHERE noted = 1""",
    """CREATE INDEX states_noted_context ON states(context_id) WHERE noted = 1""",
    """CREATE INDEX states_noted_parent ON states(parent_id) WHERE noted = 1""",
)


def fourth(connection: sqlite3.Connection) -> None:
    """Add what caused an event, and who caused a change of a device that people care about."""
    for statement in _FOURTH:
        connection.execute(statement)


_FIFTH = (
    """CREATE TABLE run_pieces(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, name TEXT NOT NULL UNIQUE,
        data BLOB NOT NULL)""",
    """CREATE INDEX run_pieces_time ON run_pieces(time_ms)""",
)


def fifth(connection: sqlite3.Connection) -> None:
    """Make the table of what models are sent before a conversation: each piece once, by its hash."""
    for statement in _FIFTH:
        connection.execute(statement)


HISTORY_MIGRATIONS = (first, second, third, fourth, fifth)
"""In order; one that was released is never changed, only followed by another."""
