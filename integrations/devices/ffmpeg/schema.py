"""Configuration of the items of `camera:` with the platform ffmpeg; its own key may stay empty."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema
from integrations.devices.camera_schema import FFMPEG

CONFIG_SCHEMA = Schema(AnyOf({}, None))
PLATFORMS = {"camera": FFMPEG}
