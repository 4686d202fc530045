"""The memory finds by the vectors that the model makes."""

from __future__ import annotations

from pathlib import Path

from hub.testing import running_hub, until

INTEGRATION = Path(__file__).parents[1]
MEMORY = {"embeddings": {"provider": "letter_vectors"}}


def test_letters_in_another_order_are_found() -> None:
    with running_hub(INTEGRATION, {"letter_vectors": {}, "memory": MEMORY}) as hub:
        hub.call("memory.add", {"text": "real boom"})
        hub.call("memory.index", {})

        def by_meaning() -> list[str]:
            hits = hub.call("memory.search", {"query": "moob rela"})["hits"]
            return [hit["text"] for hit in hits if hit.get("vector_score")]

        found = until(by_meaning)
        status = hub.call("memory.status", {})

    assert "real boom" in found[0]
    assert status["index"]["embedder"]["model"] == "letters"
