"""Feishu's names of the emoji that people react with most; it has no others but its own pictures."""

from __future__ import annotations

_NAMES = {
    "👍": "THUMBSUP", "👎": "ThumbsDown", "❤": "HEART", "✅": "DONE", "❌": "CrossMark", "👀": "GLANCE", "🎉": "PARTY",
    "🙏": "THANKS", "🔥": "Fire", "😂": "LOL", "🤔": "THINKING", "😀": "SMILE", "😢": "CRY", "👏": "APPLAUSE",
    "⏳": "OneSecond", "💯": "Hundred", "😍": "OBSESSED", "👌": "OK", "💪": "MUSCLE", "😎": "SMART", "😭": "SOB",
    "😡": "ANGRY", "😮": "WOW", "💔": "HEARTBROKEN", "🤝": "FISTBUMP", "👋": "WAVE", "🌹": "ROSE", "🍺": "BEER",
    "🎂": "CAKE", "🎁": "GIFT", "💩": "POOP", "💣": "BOMB", "🏆": "Trophy", "📌": "Pin", "☕": "Coffee",
    "✔": "CheckMark", "😴": "SLEEP", "😘": "KISS", "🤗": "HUG", "😱": "TERROR", "🤮": "PUKE", "😉": "WINK",
    "🥳": "Partying", "✍": "Typing", "🤷": "Shrug", "🤡": "ClownFace",
}  # fmt: skip
_EMOJI = {name: emoji for emoji, name in _NAMES.items()}


def emoji_of(name: str) -> str:
    """Return the emoji of a name of Feishu's, or the name between colons."""
    return _EMOJI.get(name, f":{name}:")


def name_of(emoji: str) -> str:
    """Return Feishu's name of an emoji; anything else is treated as a name."""
    return _NAMES.get(emoji.rstrip("\ufe0f"), emoji.strip(":"))
