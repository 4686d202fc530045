"""The package an engine needs: when it cannot be loaded, what a person has to run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from integrations.memory.notes.index.contract import EngineMissing


@contextlib.contextmanager
def loaded(package: str, extra: str, instead: str) -> Iterator[None]:
    """Tell an import that fails inside as `EngineMissing`.

    Args:
        package: Name of the module that must be there.
        extra: Which extra of ours brings it.
        instead: Setting of `memory:` that does without.
    """
    try:
        yield
    except ImportError as error:
        why = (
            "is not installed"
            if isinstance(error, ModuleNotFoundError) and error.name == package
            else f"cannot be loaded ({error})"
        )
        raise EngineMissing(
            f"{package} {why}. Install it with script/setup, or with: uv pip install 'homarus[{extra}]';"
            f" or set {instead} under memory: in configuration.yaml, which needs nothing."
        ) from error
