"""Configuration of sessions: `session:`."""

from __future__ import annotations

from hub.config.sections import Section
from hub.core.schema import All, In, Optional, Range, Schema, integer

DM_SCOPES = ("auto", "main", "per-peer", "per-channel-peer", "per-account-channel-peer")
OPEN_TRANSCRIPTS = 256

SESSION_SCHEMA = Schema(
    {
        Optional(
            "dm_scope",
            default="auto",
            description="How direct conversations are separated; auto: an owner's share the main session, everyone "
            "else has one per channel and peer; main: all people of this home share it.",
        ): In(list(DM_SCOPES)),
        Optional(
            "open_transcripts",
            default=OPEN_TRANSCRIPTS,
            description="Transcripts kept in memory; the others are read again when they are needed.",
        ): All(integer, Range(min=4, max=10_000)),
    }
)

SECTIONS = (Section("session", SESSION_SCHEMA, default={}, description="How conversations are separated and kept."),)
