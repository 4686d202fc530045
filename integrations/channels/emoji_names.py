"""The names that Slack and Mattermost give the emoji that people react with most; the others keep their names."""

from __future__ import annotations

_NAMES = {
    "👍": "+1", "👎": "-1", "❤": "heart", "✅": "white_check_mark", "❌": "x", "👀": "eyes", "🎉": "tada",
    "🙏": "pray", "🔥": "fire", "😂": "joy", "🤔": "thinking_face", "😀": "grinning", "😢": "cry", "🚀": "rocket",
    "👏": "clap", "⏳": "hourglass_flowing_sand", "💯": "100", "😍": "heart_eyes", "⚠": "warning", "👌": "ok_hand",
}  # fmt: skip
_EMOJI = {name: emoji for emoji, name in _NAMES.items()} | {"thumbsup": "👍", "thumbsdown": "👎", "thinking": "🤔"}


def emoji_of(name: str) -> str:
    """Return the emoji of a name, or the name between colons."""
    return _EMOJI.get(name, f":{name}:")


def name_of(emoji: str) -> str:
    """Return the name of an emoji; anything else is treated as a name."""
    return _NAMES.get(emoji.rstrip("\ufe0f"), emoji.strip(":"))
