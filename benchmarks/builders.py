"""The data set as `datasets` builders: one configuration per benchmark, all with the same flat columns.

    builder = MathAuditBuilder("starter_tr", rows=[problem_row(problem) for problem in load_benchmark("starter_tr")])
    builder.download_and_prepare()
    builder.as_dataset("test")

Builders run when the data set is built; what people load are the Parquet files they leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import datasets

from multilingual_math_audit.benchmarks.catalogue import find_spec
from multilingual_math_audit.benchmarks.prompts import solver_prompt
from multilingual_math_audit.records import Problem

Row = Mapping[str, Any]

TEXT = datasets.Value("string")
NUMBER = datasets.Value("int64")
COLUMNS: dict[str, Any] = {
    "id": TEXT,
    "benchmark": TEXT,
    "item": TEXT,
    "problem_idx": NUMBER,
    "language": TEXT,
    "question": TEXT,
    "answer": TEXT,
    "answer_kind": TEXT,
    "choices": datasets.List(TEXT),
    "topic": TEXT,
    "level": TEXT,
    "prompt": TEXT,
    "samples": NUMBER,
    "licence": TEXT,
    "credit": TEXT,
    "erratum": TEXT,
}


def problem_row(problem: Problem) -> dict[str, Any]:
    """The row of a problem: every column is there, an absent text is empty.

    >>> problem = Problem("starter_en/1", "starter_en", "starter/1", "en", "What is 7 + 5?", "12", "integer")
    >>> row = problem_row(problem)
    >>> row["problem_idx"], row["answer"], row["licence"], row["erratum"]
    (1, '12', 'cc-by-4.0', '')
    """
    spec = find_spec(problem.benchmark)
    return {
        "id": problem.id,
        "benchmark": problem.benchmark,
        "item": problem.item,
        "problem_idx": int(problem.id.rsplit("/", 1)[1]),
        "language": problem.language,
        "question": problem.question,
        "answer": problem.answer,
        "answer_kind": problem.answer_kind,
        "choices": list(problem.choices or ()),
        "topic": problem.topic or "",
        "level": problem.level or "",
        "prompt": solver_prompt(problem),
        "samples": spec.samples,
        "licence": spec.licence,
        "credit": spec.credit,
        "erratum": problem.erratum or "",
    }


@dataclass
class TableConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """A configuration with its rows; `columns` is absent for problems."""

    rows: Sequence[Row] = ()
    columns: Mapping[str, Any] | None = None


class MathAuditBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """Any configuration of the data set, from its rows."""

    BUILDER_CONFIG_CLASS = TableConfig

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=datasets.Features(self.config.columns or COLUMNS))

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("test", gen_kwargs={"rows": self.config.rows})]

    def _generate_examples(self, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
        yield from enumerate(rows)
