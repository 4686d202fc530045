"""The schema of hub.db, as numbered migrations: what must survive a crash, and nothing that can be rebuilt."""

from __future__ import annotations

import sqlite3

_FIRST = (
    """CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL)""",
    """CREATE TABLE sessions(
        key TEXT PRIMARY KEY, session_id TEXT NOT NULL, agent_id TEXT NOT NULL,
        created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, data TEXT NOT NULL)""",
    """CREATE TABLE inbox(
        id TEXT PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL, peer TEXT NOT NULL, message_id TEXT NOT NULL,
        received_ms INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, session_key TEXT, run_id TEXT, principal TEXT,
        context_id TEXT, parent_id TEXT, message TEXT, UNIQUE(channel, account, peer, message_id))""",
    """CREATE INDEX inbox_open ON inbox(state) WHERE state IN ('received', 'queued')""",
    """CREATE INDEX inbox_run ON inbox(run_id) WHERE run_id IS NOT NULL""",
    """CREATE TABLE runs(
        id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, session_key TEXT NOT NULL, session_id TEXT, inbox_id TEXT,
        kind TEXT NOT NULL, state TEXT NOT NULL, lane TEXT, authority TEXT, context_id TEXT, parent_id TEXT,
        created_ms INTEGER NOT NULL, started_ms INTEGER, ended_ms INTEGER, model TEXT, usage TEXT, error TEXT,
        reply TEXT)""",
    """CREATE INDEX runs_open ON runs(state) WHERE state IN ('queued', 'running')""",
    """CREATE INDEX runs_session ON runs(session_key, created_ms)""",
    """CREATE TABLE outbox(
        id TEXT PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL, peer TEXT NOT NULL, chat_type TEXT,
        thread TEXT, session_key TEXT, run_id TEXT, reply_to TEXT, part INTEGER NOT NULL DEFAULT 0, text TEXT,
        state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, next_ms INTEGER, created_ms INTEGER NOT NULL,
        updated_ms INTEGER, platform_ids TEXT, error TEXT, context_id TEXT)""",
    """CREATE INDEX outbox_open ON outbox(channel, account, peer, id) WHERE state IN ('pending', 'sending')""",
    """CREATE INDEX outbox_run ON outbox(run_id) WHERE run_id IS NOT NULL""",
    """CREATE TABLE idempotency(
        principal TEXT NOT NULL, method TEXT NOT NULL, key TEXT NOT NULL, params_hash TEXT NOT NULL,
        created_ms INTEGER NOT NULL, state TEXT NOT NULL, responses TEXT, PRIMARY KEY(principal, method, key))""",
    """CREATE INDEX idempotency_age ON idempotency(created_ms)""",
    """CREATE TABLE tokens(
        id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL UNIQUE, scopes TEXT NOT NULL,
        generation INTEGER NOT NULL DEFAULT 1, created_ms INTEGER NOT NULL, last_used_ms INTEGER, expires_ms INTEGER,
        revoked_ms INTEGER)""",
    """CREATE TABLE web_sessions(
        id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, principal TEXT NOT NULL, scopes TEXT NOT NULL,
        created_ms INTEGER NOT NULL, last_used_ms INTEGER, expires_ms INTEGER NOT NULL)""",
    """CREATE TABLE login_codes(
        hash BLOB PRIMARY KEY, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, used_ms INTEGER,
        scopes TEXT NOT NULL)""",
    """CREATE TABLE devices(
        id TEXT PRIMARY KEY, public_key TEXT NOT NULL, data TEXT NOT NULL, token_hash BLOB, role TEXT NOT NULL,
        scopes TEXT NOT NULL, created_ms INTEGER NOT NULL, last_used_ms INTEGER, revoked_ms INTEGER)""",
    """CREATE TABLE device_requests(
        id TEXT PRIMARY KEY, device_id TEXT NOT NULL, data TEXT NOT NULL, created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL)""",
    """CREATE TABLE pairings(
        id TEXT PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL, identity TEXT NOT NULL, state TEXT NOT NULL,
        code_hash BLOB, data TEXT, created_ms INTEGER NOT NULL, expires_ms INTEGER,
        UNIQUE(channel, account, identity))""",
)


def first(connection: sqlite3.Connection) -> None:
    """Make the tables of the first version."""
    for statement in _FIRST:
        connection.execute(statement)


_SECOND = (
    """CREATE TABLE approvals(
        id TEXT PRIMARY KEY, code TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
        details TEXT NOT NULL, binding TEXT NOT NULL, requested_by TEXT NOT NULL, session_key TEXT, run_id TEXT,
        context_id TEXT NOT NULL, state TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
        survives INTEGER NOT NULL DEFAULT 0, decided_ms INTEGER, decided_by TEXT, reason TEXT NOT NULL DEFAULT '')""",
    """CREATE INDEX approvals_open ON approvals(state) WHERE state = 'pending'""",
    """CREATE INDEX approvals_age ON approvals(created_ms)""",
)


def second(connection: sqlite3.Connection) -> None:
    """Add the table of approvals."""
    for statement in _SECOND:
        connection.execute(statement)


_THIRD = (
    """CREATE TABLE automation_state(
        id TEXT PRIMARY KEY, enabled INTEGER, last_triggered_ms INTEGER, failures INTEGER NOT NULL DEFAULT 0,
        paused_reason TEXT, schedules TEXT, updated_ms INTEGER NOT NULL)""",
    """CREATE TABLE automation_runs(
        id TEXT PRIMARY KEY, owner_kind TEXT NOT NULL, owner_id TEXT NOT NULL, state TEXT NOT NULL,
        authority TEXT NOT NULL, context_id TEXT NOT NULL, parent_id TEXT, created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL)""",
    """CREATE TABLE automation_authority(
        id TEXT PRIMARY KEY, authority TEXT NOT NULL, text_hash TEXT NOT NULL, made_by TEXT NOT NULL, session_key TEXT,
        created_ms INTEGER NOT NULL)""",
    """CREATE TABLE system_events(
        id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, session_key TEXT NOT NULL, text TEXT NOT NULL,
        authority TEXT NOT NULL, created_ms INTEGER NOT NULL, taken_ms INTEGER)""",
    """CREATE INDEX system_events_waiting ON system_events(session_key, created_ms) WHERE taken_ms IS NULL""",
    """CREATE TABLE service_results(key TEXT PRIMARY KEY, result TEXT, created_ms INTEGER NOT NULL)""",
    """CREATE INDEX service_results_age ON service_results(created_ms)""",
)


def third(connection: sqlite3.Connection) -> None:
    """Add the tables of automations: whether they are on, active runs, authorities, and completed calls."""
    for statement in _THIRD:
        connection.execute(statement)


_FOURTH = (
    """CREATE TABLE memory_flushes(
        session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL, agent_id TEXT NOT NULL, entry_id TEXT,
        entry_ms INTEGER NOT NULL DEFAULT 0, path TEXT, plan TEXT, wanted_ms INTEGER, tries INTEGER NOT NULL DEFAULT 0,
        updated_ms INTEGER NOT NULL)""",
    """CREATE INDEX memory_flushes_wanted ON memory_flushes(wanted_ms) WHERE wanted_ms IS NOT NULL""",
    """CREATE TABLE standing_intents(
        id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, area TEXT NOT NULL, topics TEXT NOT NULL, text TEXT NOT NULL,
        created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, cooldown_s INTEGER NOT NULL, last_fired_ms INTEGER,
        fired INTEGER NOT NULL DEFAULT 0, session_key TEXT NOT NULL, person TEXT, trusted INTEGER NOT NULL)""",
    """CREATE INDEX standing_intents_of ON standing_intents(agent_id, area)""",
)


def fourth(connection: sqlite3.Connection) -> None:
    """Add the tables of memory positions and standing intents."""
    for statement in _FOURTH:
        connection.execute(statement)


def fifth(connection: sqlite3.Connection) -> None:
    """Add the credentials that a token was made with."""
    connection.execute("ALTER TABLE tokens ADD COLUMN made_by TEXT NOT NULL DEFAULT ''")


_ORDERED = ("inbox", "runs", "outbox", "approvals", "automation_runs", "system_events")


def sixth(connection: sqlite3.Connection) -> None:
    """Give ordered rows an explicit position, and the inbox the sender: portable to other databases."""
    for table in _ORDERED:
        _add_position(connection, table)
    connection.execute("ALTER TABLE inbox ADD COLUMN person TEXT")
    connection.execute("ALTER TABLE inbox ADD COLUMN owner INTEGER NOT NULL DEFAULT 0")
    connection.execute(
        "UPDATE inbox SET person = json_extract(principal, '$.person'),"
        " owner = coalesce(json_extract(principal, '$.owner'), 0) WHERE json_valid(principal)"
    )


def _add_position(connection: sqlite3.Connection, table: str) -> None:
    """Rebuild a table with its implicit row number as a column, in the same order."""
    made = [statement for statement in (*_FIRST, *_SECOND, *_THIRD) if f" {table}(" in statement]
    create, *indexes = made
    columns = ", ".join(str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})"))
    connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    connection.execute(create.replace("id TEXT PRIMARY KEY", "position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE"))
    connection.execute(f"INSERT INTO {table}(position, {columns}) SELECT rowid, {columns} FROM old_{table}")  # noqa: S608  constants
    connection.execute(f"DROP TABLE old_{table}")
    for index in indexes:
        connection.execute(index)


def seventh(connection: sqlite3.Connection) -> None:
    """Add the credentials that an automation was made with."""
    connection.execute("CREATE TABLE automation_makers(id TEXT PRIMARY KEY, links TEXT NOT NULL)")


_EIGHTH = (
    """CREATE TABLE channel_cursors(
        channel TEXT NOT NULL, account_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY(channel, account_id, name))""",
    """ALTER TABLE outbox ADD COLUMN kind TEXT NOT NULL DEFAULT 'message'""",
    """ALTER TABLE outbox ADD COLUMN payload TEXT""",
    """CREATE TABLE group_history(
        position INTEGER PRIMARY KEY, session_key TEXT NOT NULL, run_id TEXT, channel TEXT NOT NULL,
        account TEXT NOT NULL, peer TEXT NOT NULL, message_id TEXT NOT NULL, sender TEXT NOT NULL, name TEXT NOT NULL,
        person TEXT, text TEXT NOT NULL, received_ms INTEGER NOT NULL)""",
    """CREATE INDEX group_history_session ON group_history(session_key, run_id)""",
    """CREATE INDEX group_history_run ON group_history(run_id) WHERE run_id IS NOT NULL""",
    """ALTER TABLE outbox ADD COLUMN source TEXT NOT NULL DEFAULT 'reply'""",
    """UPDATE outbox SET state = 'queued' WHERE state = 'pending'""",
    """UPDATE outbox SET state = 'sent' WHERE state = 'delivered'""",
    """DROP INDEX outbox_open""",
    """CREATE INDEX outbox_open ON outbox(channel, account, peer, position) WHERE state IN ('queued', 'sending')""",
    """CREATE INDEX outbox_session ON outbox(session_key, position) WHERE session_key IS NOT NULL""",
    """CREATE INDEX outbox_trouble ON outbox(state, channel, account, position) WHERE state IN ('unknown', 'dead')""",
    """CREATE TABLE model_cooldowns(
        provider TEXT NOT NULL, credential TEXT NOT NULL, model TEXT NOT NULL, reason TEXT NOT NULL,
        failures INTEGER NOT NULL, since REAL NOT NULL, wait_s REAL, key TEXT NOT NULL,
        PRIMARY KEY(provider, credential, model))""",
    """CREATE TABLE budget_spending(
        per TEXT NOT NULL, name TEXT NOT NULL, day TEXT NOT NULL, turns INTEGER NOT NULL, tokens INTEGER NOT NULL,
        cost_usd REAL NOT NULL, seconds REAL NOT NULL, calls INTEGER NOT NULL, updated REAL NOT NULL,
        PRIMARY KEY(per, name, day))""",
    """CREATE TABLE subagents(
        position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL, session_key TEXT NOT NULL,
        requester_key TEXT NOT NULL, requester_agent TEXT NOT NULL, agent_id TEXT NOT NULL, label TEXT NOT NULL,
        depth INTEGER NOT NULL, authority TEXT NOT NULL, place TEXT NOT NULL, cleanup TEXT NOT NULL,
        archive_after INTEGER NOT NULL, created_ms INTEGER NOT NULL, state TEXT NOT NULL, ended_ms INTEGER,
        result TEXT NOT NULL, tainted INTEGER NOT NULL, tokens INTEGER NOT NULL, cost_usd REAL, announce_id TEXT,
        announced_ms INTEGER, task TEXT NOT NULL, model TEXT NOT NULL)""",
    """CREATE INDEX subagents_announced ON subagents(announce_id) WHERE announce_id IS NOT NULL""",
    """CREATE TABLE exec_log(
        position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, begun_ms INTEGER NOT NULL, principal TEXT NOT NULL,
        agent_id TEXT NOT NULL, session_key TEXT NOT NULL, run_id TEXT NOT NULL, place TEXT NOT NULL,
        command TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, exit_code INTEGER, ended_ms INTEGER)""",
    """CREATE TABLE nodes(id TEXT PRIMARY KEY, data TEXT NOT NULL)""",
    """CREATE TABLE node_work(id TEXT PRIMARY KEY, node_id TEXT NOT NULL, data TEXT NOT NULL)""",
    """CREATE TABLE api_runs(
        id TEXT PRIMARY KEY, principal TEXT NOT NULL, place TEXT, request_hash TEXT NOT NULL, session_key TEXT,
        agent_id TEXT NOT NULL, previous TEXT, shown INTEGER NOT NULL, echo TEXT NOT NULL, answer TEXT, entries BLOB,
        heard INTEGER NOT NULL, size INTEGER NOT NULL, used_ms INTEGER NOT NULL)""",
    """CREATE UNIQUE INDEX api_runs_place ON api_runs(place) WHERE place IS NOT NULL""",
)


def eighth(connection: sqlite3.Connection) -> None:
    """Add the read positions of channel accounts, and the content sent beside text."""
    for statement in _EIGHTH:
        connection.execute(statement)


_NAMED = "CASE WHEN json_valid(message) THEN json_extract(message, '$.address.account') END"
_NO_NAME = """NOT EXISTS (SELECT 1 FROM account_names AS other WHERE other.channel = account_names.channel
        AND other.account = account_names.account_id)"""
"""The platform's id of one account may be the name of another, and then nobody knows which is meant."""
_NINTH = (
    """DROP INDEX inbox_open""",
    """DROP INDEX inbox_run""",
    """ALTER TABLE inbox RENAME TO old_inbox""",
    """CREATE TABLE inbox(
        position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, account TEXT NOT NULL,
        account_id TEXT NOT NULL, peer TEXT NOT NULL, message_id TEXT NOT NULL, received_ms INTEGER NOT NULL,
        state TEXT NOT NULL, reason TEXT, session_key TEXT, run_id TEXT, principal TEXT, context_id TEXT,
        parent_id TEXT, message TEXT, person TEXT, owner INTEGER NOT NULL DEFAULT 0,
        UNIQUE(channel, account_id, peer, message_id))""",
    f"""INSERT INTO inbox SELECT position, id, channel, coalesce({_NAMED}, account), account, peer, message_id,
        received_ms, state, reason, session_key, run_id, principal, context_id, parent_id, message, person, owner
        FROM old_inbox""",  # noqa: S608  constants
    """DROP TABLE old_inbox""",
    """CREATE INDEX inbox_open ON inbox(state) WHERE state IN ('received', 'queued')""",
    """CREATE INDEX inbox_run ON inbox(run_id) WHERE run_id IS NOT NULL""",
    """CREATE TEMP TABLE account_names AS SELECT channel, account_id, account, max(position) FROM inbox
        WHERE account != account_id GROUP BY channel, account_id""",
    *(
        f"""UPDATE {table} SET account = account_names.account FROM account_names
        WHERE {table}.channel = account_names.channel AND {table}.account = account_names.account_id
        AND {condition}"""  # noqa: S608
        for table, condition in (("inbox", "inbox.account = inbox.account_id"), ("outbox", _NO_NAME))
    ),
    f"""UPDATE subagents SET place = json_set(place, '$.address.account', account_names.account) FROM account_names
        WHERE json_valid(place) AND json_extract(place, '$.address.channel') = account_names.channel
        AND json_extract(place, '$.address.account') = account_names.account_id AND {_NO_NAME}""",  # noqa: S608  constants
    """DROP TABLE account_names""",
)


def ninth(connection: sqlite3.Connection) -> None:
    """Key received messages by the account's configured name, with the platform's id beside it.

    Until now the id was used instead, and what was sent where somebody had written from went to an account that
    the configuration does not know.
    """
    for statement in _NINTH:
        connection.execute(statement)


def tenth(connection: sqlite3.Connection) -> None:
    """Index chat messages by their place; the table's own key begins with the platform's account id."""
    connection.execute("CREATE INDEX inbox_place ON inbox(channel, account, peer, position)")


def eleventh(connection: sqlite3.Connection) -> None:
    """Find received messages without a run, which the timeline lists."""
    connection.execute("CREATE INDEX inbox_unanswered ON inbox(position) WHERE state = 'command' OR state = 'rejected'")


def twelfth(connection: sqlite3.Connection) -> None:
    """Keep the templates and values of an approval's texts, so that each reader sees them in their language."""
    connection.execute("ALTER TABLE approvals ADD COLUMN phrases TEXT")


def thirteenth(connection: sqlite3.Connection) -> None:
    """Keep the timers that were said to satellites."""
    connection.execute("CREATE TABLE satellite_timers(id TEXT PRIMARY KEY, data TEXT NOT NULL)")


_FOURTEENTH = (
    """CREATE TABLE transcripts(session_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, session_key TEXT NOT NULL,
        version INTEGER NOT NULL, put_away INTEGER NOT NULL)""",
    """CREATE INDEX transcripts_key ON transcripts(session_key)""",
    """CREATE TABLE transcript(session_id TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, run_id TEXT,
        ts_ms INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY(session_id, seq), UNIQUE(session_id, id))""",
)


def fourteenth(connection: sqlite3.Connection) -> None:
    """Make room for transcripts, which are files of the home unless `storage:` says otherwise."""
    for statement in _FOURTEENTH:
        connection.execute(statement)


def fifteenth(connection: sqlite3.Connection) -> None:
    """Make room for the small files of the home, which are files unless `storage:` says otherwise."""
    connection.execute("CREATE TABLE documents(name TEXT PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL)")


HUB_MIGRATIONS = (
    *(first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth, eleventh, twelfth),
    *(thirteenth, fourteenth, fifteenth),
)
"""In order; one that was released is never changed, only followed by another."""
