"""How long a voice message in an Ogg file is, for platforms that want to be told."""

from __future__ import annotations


def ogg_ms(content: bytes) -> int:
    """Return how long an Opus sound in an Ogg file is, in milliseconds; 0 for anything else.

    Its last page says how many samples there are up to its end, of 48 000 a second; -1 where none ends in it.
    """
    last = content.rfind(b"OggS")
    if not content.startswith(b"OggS") or b"OpusHead" not in content[:200] or len(content) < last + 14:
        return 0
    return max(0, int.from_bytes(content[last + 6 : last + 14], "little", signed=True)) // 48
