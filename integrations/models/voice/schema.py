"""Configuration of the engines that hear and speak on this machine."""

from __future__ import annotations

from hub.core.schema import All, Match, Optional, Range, Schema, integer, string
from hub.models.contract import AUTO
from hub.voice.schema import SATELLITE_KEYS
from integrations.models.voice import check

CROSS_CHECKS = check.CROSS_CHECKS

name = All(string, Match(r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}\Z", msg="expected a name that `homarus voice list` shows"))

CONFIG_SCHEMA = Schema(
    {
        Optional(
            "stt", default=AUTO, description="What hears, such as whisper-base; auto: the largest that is installed"
        ): name,
        Optional(
            "tts",
            default=AUTO,
            description="What speaks: a voice such as en_US-joe-medium, or espeak-ng; auto: an installed voice of the "
            "language, else espeak-ng",
        ): name,
        Optional("threads", default=2, description="Threads of each engine"): All(integer, Range(min=1, max=64)),
        Optional("idle_minutes", default=10, description="Minutes without work after which an engine ends"): All(
            integer, Range(min=1, max=1_440)
        ),
        Optional("timeout_s", default=60, description="Seconds that a request may take, with the engine's start"): All(
            integer, Range(min=5, max=600)
        ),
        **SATELLITE_KEYS,
    }
)
