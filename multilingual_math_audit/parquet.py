"""A run as Parquet, which `datasets`, pandas and every other tool read, and back to the byte."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from multilingual_math_audit.errors import RecordError, UsageError
from multilingual_math_audit.journal import storage_errors, write_atomically
from multilingual_math_audit.records import Record
from multilingual_math_audit.store import KINDS, Run

ROWS = 2_000


def write_parquet(run: Run, folder: str | Path) -> dict[str, int]:
    """Write one Parquet file per record type (zstd) beside a copy of the manifest; gives the rows of each file.

    Memory holds a few thousand rows. A file that was begun and not finished is not left under its name.
    """
    target = Path(folder)
    if target.resolve() == run.folder.resolve():
        raise UsageError("The Parquet files need a folder of their own.", "Give -o DIR, or leave it out.")
    with storage_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    rows = {f"{kind.file.removesuffix('.jsonl')}.parquet": _write(run, kind, target) for kind in KINDS if run.has(kind)}
    write_atomically(target / "manifest.json", (run.folder / "manifest.json").read_bytes())
    return rows


def read_parquet(folder: str | Path, out: str | Path) -> Run:
    """The run folder that was written as Parquet; raises UsageError when `out` holds a run already."""
    source, target = Path(folder), Path(out)
    if (target / "manifest.json").exists():
        raise UsageError(f"There is a run at {target} already.", "Give another folder with -o.")
    if not (source / "manifest.json").exists():
        raise UsageError(f"{source} holds no manifest.json beside its Parquet files.", "Give what 'compact' wrote.")
    with storage_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        file = source / f"{kind.file.removesuffix('.jsonl')}.parquet"
        if file.exists():
            write_atomically(target / kind.file, (record.to_json() + b"\n" for record in _records(file, kind)))
    write_atomically(target / "manifest.json", (source / "manifest.json").read_bytes())
    return Run.open(target)


def _write(run: Run, kind: type[Record], folder: Path) -> int:
    import pyarrow
    import pyarrow.parquet

    schema = _schema(kind)
    path = folder / f"{kind.file.removesuffix('.jsonl')}.parquet"
    part = path.with_suffix(".part")
    rows: list[dict[str, Any]] = []
    count = 0
    with storage_errors(path):
        with pyarrow.parquet.ParquetWriter(part, schema, compression="zstd") as writer:
            for record in run.read(kind):
                rows.append(_flat(record))
                count += 1
                if len(rows) == ROWS:
                    writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
                    rows = []
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
        part.replace(path)
    return count


def _schema(kind: type[Record]) -> Any:
    import pyarrow

    plain = {"int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_()}
    fields = []
    for field in dataclasses.fields(kind):
        name = str(field.type)
        lists = pyarrow.list_(pyarrow.string()) if name.startswith("list") else pyarrow.string()
        fields.append(pyarrow.field(field.name, plain.get(name.split(" |")[0], lists)))
    return pyarrow.schema(fields)


def _flat(record: Record) -> dict[str, Any]:
    # A mapping whose keys vary becomes a column of JSON: its type would differ from file to file.
    row = orjson.loads(record.to_json())
    return {name: orjson.dumps(value).decode() if isinstance(value, dict) else value for name, value in row.items()}


def _records(file: Path, kind: type[Record]) -> Iterator[Record]:
    import pyarrow
    import pyarrow.parquet

    mappings = {field.name for field in dataclasses.fields(kind) if str(field.type).startswith("dict")}
    try:
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=ROWS):
            for row in batch.to_pylist():
                kept = {name: value for name, value in row.items() if value is not None}
                for name in mappings & kept.keys():
                    kept[name] = orjson.loads(kept[name])
                yield kind.from_dict(kept)
    except (OSError, pyarrow.ArrowInvalid, orjson.JSONDecodeError) as error:
        raise RecordError(f"{file} cannot be read: {error}.") from None
