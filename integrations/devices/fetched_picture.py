"""A picture at an address: it is fetched when somebody looks, and not kept."""

from __future__ import annotations

from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.entities.pictures import PICTURE_LIMIT_BYTES, Picture
from hub.models.images import image_type
from hub.security.egress import ConfiguredTarget, Egress, parse_url

TIMEOUT_S = 10.0


async def fetch_picture(egress: Egress, url: str, target: ConfiguredTarget | None = None) -> Picture:
    """Return the picture at an address, after its redirects.

    Args:
        target: What the owner's configuration says of its host.

    Raises:
        HubError: It cannot be called, does not answer, or answers with no picture.
    """
    answer = await egress.fetch(url, limit_bytes=PICTURE_LIMIT_BYTES, timeout_s=TIMEOUT_S, target=target)
    place = parse_url(url).host
    if answer.status != 200:
        raise Unavailable(phrase("{place} answered {status} instead of a picture", place=place, status=answer.status))
    mime_type = image_type(answer.body)
    if mime_type is None:
        raise Unavailable(phrase("{place} sent something that is no picture", place=place))
    return Picture(answer.body, mime_type)
