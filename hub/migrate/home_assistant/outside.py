"""What of a Home Assistant has no counterpart as it is: its integrations and sections, and how each comes here."""

from __future__ import annotations

from collections.abc import Mapping

from hub.automation.definition.commands import NAMES as COMMANDS
from hub.core.phrases import Phrase, phrase
from hub.entities.helpers.table import HELPERS, LATER_SECTIONS
from hub.migrate.home_assistant.their_templates import MADE_HERE

_BRIDGE = phrase(
    "its devices come by the bridge while Home Assistant runs: home_assistant: with its address and a token"
)
_MODEL = phrase("models are added on the page Models")
_CHAT = phrase("it is a channel here: `homarus channels add`")
_MQTT = phrase("its devices come over MQTT by themselves, once mqtt: leads to the same broker")
_MORE: Mapping[str, Phrase] = {
    **dict.fromkeys(("anthropic", "openai_conversation", "google_generative_ai_conversation", "ollama"), _MODEL),
    **dict.fromkeys(("open_router", "mistral_conversation", "extended_openai_conversation"), _MODEL),
    **dict.fromkeys(("telegram_bot", "telegram", "discord", "slack", "matrix", "signal_messenger"), _CHAT),
    **dict.fromkeys(("tasmota", "esphome", "zwave_js", "zha", "deconz"), _BRIDGE),
    "wyoming": phrase("speech comes by wyoming: here, with the same servers"),
    "caldav": phrase("calendars come by calendar: here, with the same address"),
    "mobile_app": phrase("pair the phone on the page Phones; the app of Home Assistant can be used"),
    "backup": phrase("backups are made here by backup:"),
    "feedreader": phrase("an automation with the trigger feed reads it here"),
    "mcp": phrase("tool servers come by mcp: here"),
}

PARTS_OF_THEIRS = frozenset(
    {
        *("homeassistant", "default_config", "automation", "script", "person", "blueprint"),
        *("frontend", "logger", "recorder", "history", "logbook", "config", "system_health", "map", "my"),
        *("ssdp", "zeroconf", "usb", "energy", "bluetooth", "discovery", "lovelace", "cloud", "api", "websocket_api"),
        *("http", "panel_custom", "panel_iframe", "updater", "introduction", "stream", "media_source", "image_upload"),
        *("local_calendar", "local_todo", "shopping_list", "todo"),
        *("dhcp", "network", "application_credentials", "assist_pipeline", "hardware", "repairs", "search", "tag"),
        *("system_log", "analytics", "onboarding", "auth", "debugpy", "profiler", *MADE_HERE),
        *COMMANDS,
        *HELPERS,
        *LATER_SECTIONS,
    }
)
"""Sections and entries that are no device or service of their own."""


def way_of(domain: str) -> Phrase:
    """Return how what an integration of theirs brings comes here."""
    return _MORE.get(domain, _BRIDGE)


def section_way(domain: str) -> Phrase:
    """Return how what a section of their YAML configures comes here."""
    if domain == "mqtt":
        return _MQTT
    if domain in ("sensor", "binary_sensor", "light", "switch", "cover", "fan", "climate"):
        return phrase("entities with a platform that is not here come by the bridge while Home Assistant runs")
    if domain in ("python_script", "pyscript"):
        return phrase("an automation here calls a tool, or fetches a page, by itself")
    return _MORE.get(domain, _BRIDGE)
