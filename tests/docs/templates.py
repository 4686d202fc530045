"""Integrations as `docs/integrations.md` has them written, each out of a few pieces of the examples."""

from __future__ import annotations

from pathlib import Path

from hub.integration.scaffold import write_integration

PIECES = {
    "doorbell": ["tool"],
    "lines": ["channel"],
    "echo": ["model"],
    "substrings": ["engine"],
    "letters": ["embeddings"],
    "diary": ["memory"],
    "lamps": ["node"],
    "knock": ["trigger", "service"],
    "porch": ["condition", "action"],
    "greenhouse": ["page", "doctor"],
    "hello": ["cli"],
}


def write_templates(home: Path, *domains: str) -> None:
    """Write some of them into the `custom_integrations` of a home."""
    for domain in domains:
        write_integration(home / "custom_integrations", domain, PIECES[domain], {})
