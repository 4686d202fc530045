"""Configuration of the items of `camera:` with the platform mjpeg; its own key may stay empty."""

from __future__ import annotations

from hub.core.schema import AnyOf, Schema
from integrations.devices.camera_schema import MJPEG

CONFIG_SCHEMA = Schema(AnyOf({}, None))
PLATFORMS = {"camera": MJPEG}
