"""What a model is shown of a message: its words, its images, and what else came with it."""

from __future__ import annotations

from hub.messaging.contract import InboundMessage, Media
from hub.models.contract import Block, TextBlock


def content_of(message: InboundMessage) -> tuple[Block, ...]:
    """Return a message as the blocks of a user's turn; names that senders gave to files are not among them."""
    lines = [message.text] if message.text or message.images else []
    lines += [_attachment(media) for media in message.media]
    if message.location is not None:
        lines.append(f"[location: {message.location.latitude:.6f}, {message.location.longitude:.6f}]")
    lines += ["[attached: a contact card]" for _ in message.contacts]
    return (TextBlock("\n".join(lines)), *message.images)


def _attachment(media: Media) -> str:
    if media.path is None:
        return f"[attached, not readable here: {media.kind}{f' ({media.problem})' if media.problem else ''}]"
    return f"[attached {media.kind}: {media.path}, {media.size_bytes or 0} bytes]"
