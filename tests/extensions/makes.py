"""An integration from elsewhere, and archives of it that are refused."""

from __future__ import annotations

import gzip
import json
import stat
import tarfile
from collections.abc import Mapping

from tests.skills.malicious import encrypted, packed, tarred

SETUP = "async def setup(host, config):\n    host.states.set('sensor.rain', '1')\n"
SCHEMA = "from hub.core.schema import AnyOf, Schema\nCONFIG_SCHEMA = Schema(AnyOf({}, None))\n"


def rain(
    code: str = SETUP, *, folder: str = "rain", more: Mapping[str, str] | None = None, **manifest: object
) -> bytes:
    """Return a ZIP file of an integration."""
    told = {"domain": "rain", "name": "Rain", "version": "1.0.0", **manifest}
    files = {"manifest.json": json.dumps(told), "__init__.py": code, "schema.py": SCHEMA, **(more or {})}
    return packed({f"{folder}/{path}": text for path, text in files.items()})


MANIFEST = json.dumps({"domain": "rain", "name": "Rain"})
REFUSED = {
    "zip slip": (packed({"x/manifest.json": MANIFEST, "x/../../evil.py": ""}), "climbs"),
    "absolute name": (packed({"x/manifest.json": MANIFEST, "/etc/cron.d/evil": ""}), "absolute"),
    "symlink": (
        packed({"x/manifest.json": MANIFEST, "x/__init__.py": "/etc/passwd"}, {"x/__init__.py": stat.S_IFLNK | 0o777}),
        "symlink",
    ),
    "bomb": (packed({"x/manifest.json": MANIFEST, "x/big.py": b"0" * 11_000_000}), "too large"),
    "tar bomb": (gzip.compress(bytes(64 * 1024 * 1024 + 1), 1), "once it is unpacked"),
    "tar symlink": (tarred({"manifest.json": MANIFEST, "a": "/etc"}, {"a": tarfile.SYMTYPE}), "symlink"),
    "many files": (packed({"x/manifest.json": MANIFEST, **{f"x/{n}.py": "" for n in range(400)}}), "more than 300"),
    "encrypted": (encrypted(packed({"x/manifest.json": MANIFEST})), "encrypted"),
    "no integration": (packed({"x/SKILL.md": "---"}), r"no manifest\.json"),
    "no archive": (b"MZ\x90\x00", "cannot be read"),
    "several": (packed({"a/manifest.json": MANIFEST, "b/manifest.json": MANIFEST}), "several integrations.*a, b"),
    "no code": (packed({"x/manifest.json": MANIFEST}), r"no __init__\.py"),
    "a manifest that is none": (packed({"x/manifest.json": "{", "x/__init__.py": ""}), "not JSON"),
    "a manifest with a path for a name": (rain(domain="../evil"), "domain"),
    "a huge manifest": (rain(description="x" * 70_000), "larger than 64 KB"),
    "the name of one that comes with Homarus": (rain(domain="telegram"), "cannot be called telegram"),
    "the name of a section": (rain(domain="agents"), "cannot be called agents"),
}
