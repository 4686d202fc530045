"""all-MiniLM-L6-v2 in NumPy: tokens in, one vector out, the same as sentence-transformers computes."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

DIMENSIONS = 384
HEADS = 12
LAYERS = 6
WINDOW_TOKENS = 256
"""What the model was trained for, with the first and last mark."""
WINDOWS_LIMIT = 4
"""A longer text is read in windows, whose means are averaged by length; what is behind them is not read."""
CHARACTERS_LIMIT = 16_000
GROUP_TOKENS = 1_024
BLOCK_ROWS = 32
"""Of the widest layer, so that a block stays in the processor's cache."""
_EPSILON = 1e-12
_CLS, _SEP = 101, 102


class ModelDamaged(Exception):
    """The model's files are missing or not what they should be."""


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: Array
    qkv_bias: Array
    out: Array
    out_bias: Array
    norm1: Array
    norm1_bias: Array
    up: Array
    up_bias: Array
    down: Array
    down_bias: Array
    norm2: Array
    norm2_bias: Array


class MiniLM:
    """The model; safe to use from several threads.

    Args:
        directory: With `model.safetensors`, `tokenizer.json` and `config.json`.

    Raises:
        ModelDamaged: They cannot be read.
    """

    def __init__(self, directory: Path) -> None:
        from tokenizers import Tokenizer

        try:
            config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
            shape = (config["hidden_size"], config["num_attention_heads"], config["num_hidden_layers"])
            self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
            tensors = _tensors(directory / "model.safetensors")
        except Exception as error:  # the tokenizer's library raises Exception itself
            raise ModelDamaged(f"{directory}: {error}") from error
        if shape != (DIMENSIONS, HEADS, LAYERS):
            raise ModelDamaged(f"{directory} holds another model: {shape}")
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizing = threading.Lock()
        try:
            self._words: Array = tensors["embeddings.word_embeddings.weight"]
            self._places: Array = (
                tensors["embeddings.position_embeddings.weight"]
                + (tensors["embeddings.token_type_embeddings.weight"][0])
            )
            self._norm: Array = tensors["embeddings.LayerNorm.weight"]
            self._norm_bias: Array = tensors["embeddings.LayerNorm.bias"]
            self._layers = [_layer(tensors, number) for number in range(LAYERS)]
        except (KeyError, ValueError) as error:
            raise ModelDamaged(f"{directory} lacks {error}") from error

    def embed(self, texts: Sequence[str]) -> tuple[Array, int]:
        """Return a row for each text, not normalised, and the tokens that were read. Blocks."""
        import numpy as np

        windows = [self._windows(text) for text in texts]
        flat = [(place, window) for place, some in enumerate(windows) for window in some]
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for group in _groups([len(window) for _, window in flat]):
            for place, total in zip(group, self._sums([flat[place][1] for place in group]), strict=True):
                rows[flat[place][0]] += total
        counts = np.array([sum(map(len, some)) for some in windows], dtype=np.float32)
        rows /= counts[:, None]
        return rows, int(counts.sum())

    def _windows(self, text: str) -> list[list[int]]:
        with self._tokenizing:
            ids = self._tokenizer.encode(text[:CHARACTERS_LIMIT], add_special_tokens=False).ids
        inside = WINDOW_TOKENS - 2
        return [
            [_CLS, *ids[start : start + inside], _SEP]
            for start in range(0, max(1, min(len(ids), inside * WINDOWS_LIMIT)), inside)
        ]

    def _sums(self, windows: Sequence[Sequence[int]]) -> list[Array]:
        """Return the sum over each window's tokens; all tokens lie in one row of rows, so that nothing is padded."""
        import numpy as np

        ends = np.cumsum([len(window) for window in windows]).tolist()
        spans = [slice(end - len(window), end) for window, end in zip(windows, ends, strict=True)]
        ids = np.concatenate([np.asarray(window) for window in windows])
        places = np.concatenate([np.arange(len(window)) for window in windows])
        words: Array = self._words[ids] + self._places[places]
        hidden = _norm(words, self._norm, self._norm_bias)
        for layer in self._layers:
            hidden = _encode(hidden, layer, spans)
        return [hidden[span].sum(axis=0) for span in spans]


def _encode(hidden: Array, layer: _Layer, spans: Sequence[slice]) -> Array:
    """One layer of the encoder: attention within each span, then a feed-forward, each added to what came in."""
    mixed = hidden @ layer.qkv
    mixed += layer.qkv_bias
    seen = _attend(mixed, spans) @ layer.out
    seen += layer.out_bias
    seen += hidden
    hidden = _norm(seen, layer.norm1, layer.norm1_bias)
    wide: Array = hidden @ layer.up
    wide += layer.up_bias
    for start in range(0, len(wide), BLOCK_ROWS):
        _gelu(wide[start : start + BLOCK_ROWS])
    narrow = wide @ layer.down
    narrow += layer.down_bias
    narrow += hidden
    return _norm(narrow, layer.norm2, layer.norm2_bias)


def _attend(mixed: Array, spans: Sequence[slice]) -> Array:
    """Return what each token takes from those of its span, by head."""
    import numpy as np

    size = DIMENSIONS // HEADS
    seen = np.empty((len(mixed), DIMENSIONS), dtype=np.float32)
    for span in spans:
        query, key, value = mixed[span].reshape(-1, 3, HEADS, size).transpose(1, 2, 0, 3)
        scores = (query * np.float32(1 / math.sqrt(size))) @ key.transpose(0, 2, 1)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        taken = scores @ value
        taken /= scores.sum(axis=-1, keepdims=True)
        seen[span] = taken.transpose(1, 0, 2).reshape(-1, DIMENSIONS)
    return seen


def _norm(values: Array, weight: Array, bias: Array) -> Array:
    import numpy as np

    values = values - values.mean(axis=-1, keepdims=True)
    spread = np.einsum("...h,...h->...", values, values)[..., None] / values.shape[-1]
    values /= np.sqrt(spread + np.float32(_EPSILON))
    values *= weight
    values += bias
    return values


def _gelu(x: Array) -> None:
    """Put x·Φ(x) in the place of x; the error function is after Abramowitz and Stegun 7.1.26, off by 1.5e-7 at most."""
    import numpy as np

    size = np.abs(x)
    t: Array = size * np.float32(0.3275911 / math.sqrt(2))
    t += np.float32(1)
    np.reciprocal(t, out=t)
    tail: Array = t * np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail += np.float32(factor)
        tail *= t
    np.multiply(x, x, out=t)
    t *= np.float32(-0.5)
    np.exp(t, out=t)
    tail *= t  # 1 - erf(|x|/√2)
    size *= np.float32(0.5)
    tail *= size
    np.maximum(x, 0, out=x)
    x -= tail


def _groups(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Give places in groups of about `GROUP_TOKENS` together."""
    group: list[int] = []
    tokens = 0
    for place, length in enumerate(lengths):
        if group and tokens + length > GROUP_TOKENS:
            yield group
            group, tokens = [], 0
        group.append(place)
        tokens += length
    if group:
        yield group


def _layer(tensors: dict[str, Any], number: int) -> _Layer:
    import numpy as np

    def part(name: str) -> Any:
        return tensors[f"encoder.layer.{number}.{name}"]

    names = ("query", "key", "value")
    return _Layer(
        qkv=np.concatenate([part(f"attention.self.{name}.weight").T for name in names], axis=1),
        qkv_bias=np.concatenate([part(f"attention.self.{name}.bias") for name in names]),
        out=part("attention.output.dense.weight").T,
        out_bias=part("attention.output.dense.bias"),
        norm1=part("attention.output.LayerNorm.weight"),
        norm1_bias=part("attention.output.LayerNorm.bias"),
        up=part("intermediate.dense.weight").T,
        up_bias=part("intermediate.dense.bias"),
        down=part("output.dense.weight").T,
        down_bias=part("output.dense.bias"),
        norm2=part("output.LayerNorm.weight"),
        norm2_bias=part("output.LayerNorm.bias"),
    )


def _tensors(path: Path) -> dict[str, Any]:
    """Map a safetensors file: only the rows of words that are met come into memory.

    Raises:
        ValueError, OSError: It is not what its head says.
    """
    import numpy as np

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 0 < size < 1_000_000:
            raise ValueError("it is no safetensors file")
        head = json.loads(file.read(size))
    data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + size)
    found: dict[str, Any] = {}
    for name, about in head.items():
        if name == "__metadata__" or about.get("dtype") != "F32":
            continue
        start, end = about["data_offsets"]
        if not 0 <= start <= end <= len(data) or end - start != 4 * math.prod(about["shape"]):
            raise ValueError(f"{name} is cut off")
        found[name] = np.asarray(data[start:end]).view(np.float32).reshape(about["shape"])
    return found
