"""Whatever a server lists, what comes out are models."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from integrations.models.openai_compatible.listing import read_models

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "id", "pricing", "prompt", "meta", "max_model_len"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_anything_is_survived(body: Any) -> None:
    assert all(info.provider == "p" and info.id for info in read_models("p", body))


def test_the_window_of_llama_cpp_is_found() -> None:
    (info,) = read_models("p", {"data": [{"id": "m", "meta": {"n_ctx": 8192}}]})

    assert info.context_window == 8192
