"""Players that speak the protocol of the Music Player Daemon, each an entity that is followed and commanded.

Source: https://mpd.readthedocs.io/en/stable/protocol.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]] | None) -> None:
    """Follow each player."""
    from integrations.devices.mpd.player import MpdPlayer

    for each in (*(config or ()), *host.platform_items("media_player")):
        player = MpdPlayer(host, each)
        host.spawn(player.follow(), name=f"follow {player.entity_id}")
