"""The data set repository people load: one Parquet file per configuration, a README with its YAML, and `eval.yaml`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from multilingual_math_audit.benchmarks.catalogue import Spec, benchmark_names, find_spec, spec_file
from multilingual_math_audit.benchmarks.evaluation import describe_evaluation
from multilingual_math_audit.errors import StorageError, UsageError
from multilingual_math_audit.records import Problem

Row = Mapping[str, Any]
LoadProblems = Callable[[str], list[Problem]]

SPLIT = "test"
EVERYTHING = "all"
DEFAULT = "starter_en"
REGIONS = {"en": "en-GB", "tr": "tr-TR", "pt": "pt-PT"}


@dataclass(frozen=True, slots=True)
class Table:
    """A configuration: its rows, each with at least benchmark, language and licence.

    `columns` are the features of a configuration that is not one of problems; the `all` configuration leaves it out.
    """

    title: str
    rows: Sequence[Row]
    columns: Mapping[str, Any] | None = None

    @property
    def specs(self) -> list[Spec]:
        """The benchmarks its rows come from."""
        return [find_spec(name) for name in sorted({row["benchmark"] for row in self.rows})]

    @property
    def publishable(self) -> bool:
        """Whether the rights of every row allow publishing it."""
        return all(spec.publish for spec in self.specs)


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a configuration."""

    path: str
    rows: int
    num_bytes: int
    file_bytes: int
    features: list[dict[str, Any]]


def problem_tables(names: Sequence[str], load: LoadProblems) -> dict[str, Table]:
    """The configurations of benchmarks, one each, in the order given.

    >>> from multilingual_math_audit.loaders.problems import load_benchmark
    >>> table = problem_tables(["starter_tr"], load_benchmark)["starter_tr"]
    >>> table.title, table.rows[0]["question"]
    ('Starter set in Turkish', '$7 + 5$ işleminin sonucu kaçtır?')
    """
    from multilingual_math_audit.benchmarks.builders import problem_row

    return {name: Table(find_spec(name).title, [problem_row(problem) for problem in load(name)]) for name in names}


def write_dataset(folder: Path, tables: Mapping[str, Table], *, body: str = "") -> list[Path]:
    """Write a data set repository and return its files; the same tables give the same bytes.

    `body` is put after the generated part of the README. What an earlier build left of configurations that are no
    longer there is removed. Raises UsageError for a folder that holds something else, StorageError when it cannot be
    written.
    """
    if not tables:
        raise UsageError("There is no configuration to write.", f"Choose from {', '.join(benchmark_names())}.")
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "eval.yaml").is_file())):
        raise UsageError(f"{folder} holds something else than a built data set.", "Name a new or an empty folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # First the file that marks the folder as ours: a build that is cut short can then be repeated.
        evaluation = describe_evaluation([name for name, table in tables.items() if table.columns is None])
        (folder / "eval.yaml").write_text(_dump(evaluation), encoding="utf-8")
        _remove_stale(folder, tables)
        written = {name: _write_table(folder, name, table) for name, table in tables.items()}
        texts = {
            "README.md": _readme(tables, written, body),
            **{f"specs/{spec.name}.yaml": spec_file(spec.name).read_text(encoding="utf-8") for spec in _specs(tables)},
        }
        for name, text in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror or error}.", "Free some space or name another folder."
        ) from None
    return [folder / name for name in ["eval.yaml", *texts, *(part.path for part in written.values())]]


def read_tables(folder: Path) -> dict[str, Table]:
    """The configurations of a built data set; raises UsageError for a folder that is none.

    The `all` configuration is left out: it is made of the others.
    """
    import datasets
    import pyarrow.parquet

    from multilingual_math_audit.benchmarks.builders import COLUMNS

    card = _card(folder)
    tables = {}
    for config in card["configs"]:
        name, files = config["config_name"], config["data_files"][0]["path"]
        if name == EVERYTHING:
            continue
        try:
            table = pyarrow.parquet.read_table(folder / files)
        except (OSError, ValueError) as error:
            raise UsageError(f"{folder / files} cannot be read: {error}.", "Build the data set again.") from None
        features = dict(datasets.Features.from_arrow_schema(table.schema))
        title = config["description"]
        tables[name] = Table(title, table.to_pylist(), None if list(features) == list(COLUMNS) else features)
    return tables


def _card(folder: Path) -> dict[str, Any]:
    try:
        text = (folder / "README.md").read_text(encoding="utf-8")
        card = yaml.safe_load(text.split("---\n")[1])
        return {"configs": card["configs"]}
    except (OSError, IndexError, KeyError, TypeError, yaml.YAMLError):
        raise UsageError(f"{folder} is not a built data set.", "Build one with `math-audit build`.") from None


def _remove_stale(folder: Path, tables: Mapping[str, Table]) -> None:
    for path in folder.glob(f"*/{SPLIT}.parquet"):
        if path.parent.name not in tables:
            path.unlink()
            path.parent.rmdir()
    for path in folder.glob("specs/*.yaml"):
        if path.stem not in {spec.name for spec in _specs(tables)}:
            path.unlink()


def _write_table(folder: Path, name: str, table: Table) -> Written:
    import datasets
    import pyarrow.parquet

    from multilingual_math_audit.benchmarks.builders import MathAuditBuilder

    path = f"{name}/{SPLIT}.parquet"
    (folder / name).mkdir(exist_ok=True)
    shown = datasets.utils.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with tempfile.TemporaryDirectory() as cache:
            builder = MathAuditBuilder(config_name=name, cache_dir=cache, rows=table.rows, columns=table.columns)
            try:
                builder.download_and_prepare()
            except datasets.exceptions.DatasetGenerationError as error:
                raise error.__cause__ or error from None
            data = builder.as_dataset(SPLIT).data.table.combine_chunks()
            pyarrow.parquet.write_table(data, folder / path, row_group_size=1000, write_page_index=True)
    finally:
        if not shown:
            datasets.enable_progress_bars()
    return Written(
        path=path,
        rows=len(table.rows),
        num_bytes=builder.info.splits[SPLIT].num_bytes,
        file_bytes=(folder / path).stat().st_size,
        features=builder.info.features._to_yaml_list(),
    )


def _specs(tables: Mapping[str, Table]) -> list[Spec]:
    found = {spec.name: spec for table in tables.values() for spec in table.specs}
    return [found[name] for name in sorted(found)]


def _readme(tables: Mapping[str, Table], written: Mapping[str, Written], body: str) -> str:
    return f"---\n{_dump(_metadata(tables, written))}---\n\n{_introduction(tables)}{body}"


def _metadata(tables: Mapping[str, Table], written: Mapping[str, Written]) -> dict[str, Any]:
    """The YAML of the README: what the Hub's viewer and `load_dataset` read."""
    languages = sorted({row["language"] for table in tables.values() for row in table.rows})
    pooled = [name for name, table in tables.items() if table.columns is None]
    default = DEFAULT if DEFAULT in tables else next(iter(tables))
    files: dict[str, str | list[str]] = {name: part.path for name, part in written.items()}
    titles = {name: table.title for name, table in tables.items()}
    parts = {name: [written[name]] for name in tables}
    if pooled:
        files[EVERYTHING] = [written[name].path for name in pooled]
        titles[EVERYTHING] = "All benchmarks, row after row"
        parts[EVERYTHING] = [written[name] for name in pooled]
    return {
        "pretty_name": "Multilingual Math Audit",
        "language": languages,
        "language_details": [REGIONS[language] for language in languages],
        "license": sorted({row["licence"] for table in tables.values() for row in table.rows}),
        "multilinguality": ["multilingual" if len(languages) > 1 else "monolingual"],
        "size_categories": ["n<1K" if sum(part.rows for part in written.values()) < 1000 else "1K<n<10K"],
        "task_categories": ["question-answering", "text-generation"],
        "tags": ["mathematics", "reasoning", "llm-as-a-judge", "evaluation"],
        "configs": [
            {
                "config_name": name,
                "description": titles[name],
                "data_files": [{"split": SPLIT, "path": path}],
                **({"default": True} if name == default else {}),
            }
            for name, path in files.items()
        ],
        "dataset_info": [_information(name, parts[name]) for name in files],
    }


def _information(name: str, parts: Sequence[Written]) -> dict[str, Any]:
    num_bytes = sum(part.num_bytes for part in parts)
    return {
        "config_name": name,
        "features": parts[0].features,
        "splits": [{"name": SPLIT, "num_bytes": num_bytes, "num_examples": sum(part.rows for part in parts)}],
        "download_size": sum(part.file_bytes for part in parts),
        "dataset_size": num_bytes,
    }


def _introduction(tables: Mapping[str, Table]) -> str:
    lines = [
        "# Multilingual Math Audit",
        "",
        "Mathematics problems with checked answers in English, Turkish and Portuguese, for one question: does a judged",
        "reasoning metric really check the reasoning?",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'load_dataset("PATH_OR_NAME", "{next(iter(tables))}", split="{SPLIT}")',
        "```",
        "",
        "| configuration | what | language | rows | licence | credit |",
        "|---|---|---|---|---|---|",
    ]
    for name, table in tables.items():
        languages = ", ".join(sorted({row["language"] for row in table.rows}))
        licences = ", ".join(sorted({row["licence"] for row in table.rows}))
        credit = "; ".join(spec.credit for spec in table.specs)
        lines.append(f"| `{name}` | {table.title} | {languages} | {len(table.rows)} | {licences} | {credit} |")
    lines += ["", "## Rights", ""]
    lines += [f"- `{spec.name}`: {spec.licence}. {spec.licence_note}" for spec in _specs(tables)]
    lines += ["", "`specs/` holds the pinned source of each: with it, `math-audit build` makes the same rows anew.", ""]
    faults = [(spec.name, erratum) for spec in _specs(tables) for erratum in spec.errata]
    if faults:
        lines += ["## Known faults of the sources", "", "Rows are never changed; those marked *left out* are not here "]
        lines += ["unless the data set was built with errata.", ""]
        lines += [
            f"- `{name}/{erratum.row}`{' (left out)' if erratum.exclude else ''}: {erratum.reason}"
            for name, erratum in faults
        ]
        lines.append("")
    return "\n".join(lines)


class _PlainDumper(yaml.SafeDumper):
    """YAML without anchors: not every reader of a README knows them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dump(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=1000)
    return text
