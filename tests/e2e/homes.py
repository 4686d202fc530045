"""Home directories as people leave them: a configuration, and integrations of their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

OWN_INTEGRATIONS = Path(__file__).parent / "custom_integrations"

MODELS = """\
models:
  default: test/scripted
  retry: {{attempts: 1}}
  providers:
    test:
      api: openai
      base_url: {base_url}
      api_key: test-key-0123456789
      models: [{{id: scripted, context_window: 32768}}, {{id: other, context_window: 32768}}]
memory: {{embeddings: {{provider: none}}}}
"""
BY_WORD = "embeddings: {provider: none}"
"""In `MODELS`: loading the local model takes as long as most tests."""


def make_home(path: Path, configuration: str, *, own: tuple[str, ...] = ()) -> Path:
    """Make a home with a configuration and some of the integrations beside this file."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    (path / "configuration.yaml").write_text(configuration)
    for domain in own:
        shutil.copytree(OWN_INTEGRATIONS / domain, path / "custom_integrations" / domain)
    return path


def add_integration(home: Path, domain: str, code: str, **manifest: object) -> Path:
    """Add an integration of one file; return its folder."""
    folder = home / "custom_integrations" / domain
    folder.mkdir(parents=True, exist_ok=True)
    told = {"domain": domain, "name": domain.title(), "kind": "integration", "version": "1.0.0"} | manifest
    (folder / "manifest.json").write_text(json.dumps(told))
    (folder / "schema.py").write_text(
        "from hub.core.schema import AnyOf, Schema\nCONFIG_SCHEMA = Schema(AnyOf({}, None))\n"
    )
    (folder / "__init__.py").write_text(code)
    return folder
