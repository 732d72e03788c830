"""lighteval: `details_TASK_TIME.parquet` with the columns doc, model_response and metric."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import RecordError
from multilingual_math_audit.loaders.outputs.foreign import ForeignRun, ForeignSample, find_files, need, text_of


def read(path: Path) -> ForeignRun:
    """Every text of every document; a text as long as the generation size was stopped at the limit."""
    files = find_files(path, "details_*.parquet", "details_*.parquet of lighteval (run it with --save-details)")
    # .../details/MODEL/TIME/details_TASK_TIME.parquet; an organisation's models lie one folder deeper.
    parts = files[0].resolve().parts
    solver = "/".join(parts[parts.index("details") + 1 : -2]) if "details" in parts[:-2] else None
    return ForeignRun(_samples(files), solver or None)


def _samples(files: list[Path]) -> Iterator[ForeignSample]:
    import pyarrow
    import pyarrow.parquet

    for file in files:
        try:
            table = pyarrow.parquet.ParquetFile(file)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise RecordError(f"{file} cannot be read as Parquet: {error}.") from None
        place = f"{file.name}: its table"
        need(dict.fromkeys(table.schema_arrow.names), ("doc", "model_response"), place, "lighteval's details")
        number = 0
        for batch in table.iter_batches(batch_size=64, columns=["doc", "model_response"]):
            for row in batch.to_pylist():
                yield from _texts(row["doc"], row["model_response"], f"{file.stem}/{number}")
                number += 1


def _texts(doc: dict[str, Any], response: dict[str, Any], name: str) -> Iterator[ForeignSample]:
    need(response, ("text",), name, "a row of lighteval's details")
    limit = doc.get("generation_size")
    counts = response.get("output_tokens") or []
    thoughts = response.get("reasonings") or []
    for number, text in enumerate(response["text"] or []):
        tokens = len(counts[number]) if number < len(counts) and counts[number] is not None else None
        yield ForeignSample(
            own_id=f"{name}/{number}",
            text=text_of(text),
            problem=text_of((doc.get("specific") or {}).get("id") or doc.get("id")) or None,
            question=text_of(doc.get("original_query") or doc.get("query")) or None,
            answer=_gold(doc),
            thinking=(text_of(thoughts[number]) or None) if number < len(thoughts) else None,
            finish_reason="unknown" if not tokens or not limit else "length" if tokens >= limit else "stop",
            prompt_tokens=len(response["input_tokens"]) if response.get("input_tokens") else None,
            completion_tokens=tokens,
        )


def _gold(doc: dict[str, Any]) -> str | None:
    choices, index = doc.get("choices") or [], doc.get("gold_index")
    first = index[0] if isinstance(index, list) and index else index
    return text_of(choices[first]).strip() if isinstance(first, int) and 0 <= first < len(choices) else None
