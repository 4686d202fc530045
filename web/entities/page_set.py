"""The pages of the home's entities, made together."""

from __future__ import annotations

from msgspec import Struct

from web.core.method_client import MethodClient
from web.core.pulse import PagePulse
from web.core.render import Renderer
from web.entities.entities_page import EntitiesPage
from web.entities.home_tiles import HomeTiles
from web.entities.rooms_page import RoomsPage


class EntityPages(Struct, frozen=True):
    """All of them."""

    rooms: RoomsPage
    entities: EntitiesPage


def make_entity_pages(renderer: Renderer, client: MethodClient, pulse: PagePulse) -> EntityPages:
    """Make the pages, which share their tiles."""
    tiles = HomeTiles(renderer, client)
    return EntityPages(RoomsPage(renderer, client, pulse, tiles), EntitiesPage(renderer, client, pulse, tiles))
