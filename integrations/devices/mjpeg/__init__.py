"""Cameras that send one picture after the other over HTTP.

Source of the keys: Home Assistant's platform of the same name. Nothing is fetched before somebody looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Any) -> None:
    """Add the cameras."""
    from integrations.devices.camera_entity import add_camera

    for each in host.platform_items("camera"):
        add_camera(host, each)
