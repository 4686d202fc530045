"""Money, sizes and names for people."""

from __future__ import annotations


def money(usd: float) -> str:
    """Return dollars; below one, with hundredths of a cent."""
    return f"${usd:.4f}" if 0 < usd < 0.995 else f"${usd:,.2f}"


def size_text(size_bytes: float) -> str:
    """Return a size: `120 B`, `24.1 kB`, `3.0 MB`."""
    for unit in ("B", "kB", "MB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} GB"


def model_name(ref: str) -> str:
    """Return a model without its provider."""
    return ref.partition("/")[2] or ref


def title_of(name: str) -> str:
    """Return the name of a tool, a skill or a key as words: `get_state` is `Get state`."""
    words = name.replace("-", " ").replace("_", " ").strip()
    return "GitHub" if words == "github" else words[:1].upper() + words[1:]
