"""The public sets a verifier is trained and tested on in the literature: where they are, their columns, our samples.

Training is on a sample of one set, testing on samples of others, so that nothing tested was trained on. Texts are
downloaded, never shipped. Samples are drawn by a digest of each row's text, so they do not change with the order of
rows; sizes are those of arXiv 2603.03417, whose own draw is not public.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multilingual_math_audit.errors import SourceError, UnknownName
from multilingual_math_audit.records import AnswerKind, Problem

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One set on the Hub: its files, the columns of question and answer, its licence, and rows that are left out.

    `skip` are words whose presence in the question leaves a row out.
    """

    title: str
    repository: str
    files: tuple[str, ...]
    question: str
    answer: str
    licence: str
    credit: str
    sample: int
    part: str = ""
    kind: AnswerKind = "expression"
    skip: tuple[str, ...] = ()
    revision: str = "main"


_DEEPMATH = ("zwhe99/DeepMath-103K", ("data/train-00000-of-00010.parquet",))
_GEOMETRY = ("triangle", "circle", "square with", "polygon", "rectangle", "angle", "sphere", "cube", "tetrahedron")

CORPORA: dict[str, Corpus] = {
    "deepmath_train": Corpus(
        title="DeepMath-103K, training sample",
        repository=_DEEPMATH[0],
        files=_DEEPMATH[1],
        question="question",
        answer="final_answer",
        licence="mit",
        credit="He et al., DeepMath-103K (2025)",
        sample=224,
        part="train",
    ),
    "deepmath_validation": Corpus(
        title="DeepMath-103K, validation sample",
        repository=_DEEPMATH[0],
        files=_DEEPMATH[1],
        question="question",
        answer="final_answer",
        licence="mit",
        credit="He et al., DeepMath-103K (2025)",
        sample=64,
        part="validation",
    ),
    "math500": Corpus(
        title="MATH-500",
        repository="HuggingFaceH4/MATH-500",
        files=("test.jsonl",),
        question="problem",
        answer="answer",
        licence="mit",
        credit="Hendrycks et al., MATH (2021); Lightman et al. (2023)",
        sample=448,
    ),
    "olympiadbench": Corpus(
        title="OlympiadBench, open-ended text-only mathematics in English",
        repository="Hothan/OlympiadBench",
        files=("OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet",),
        question="question",
        answer="final_answer",
        licence="apache-2.0",
        credit="He et al., OlympiadBench (2024)",
        sample=448,
    ),
    "amc12": Corpus(
        title="AMC 12, 2022 to 2024, without geometry",
        repository="rulins/amc12_22-24",
        files=("data/train-00000-of-00001.parquet",),
        question="problem",
        answer="answer",
        licence="unknown",
        credit="Mathematical Association of America (AMC 12)",
        sample=134,
        skip=_GEOMETRY,
    ),
    "aime_1983_2024": Corpus(
        title="AIME 1983 to 2024",
        repository="di-zhang-fdu/AIME_1983_2024",
        files=("AIME_Dataset_1983_2024.csv",),
        question="Question",
        answer="Answer",
        licence="mit",
        credit="Mathematical Association of America (AIME)",
        sample=448,
        kind="integer",
    ),
    "omni_math": Corpus(
        title="Omni-MATH",
        repository="KbsdJames/Omni-MATH",
        files=("test.jsonl",),
        question="problem",
        answer="answer",
        licence="apache-2.0",
        credit="Gao et al., Omni-MATH (2024)",
        sample=448,
    ),
}


def load_corpus(name: str, *, folder: str | Path | None = None) -> list[Problem]:
    """The sample of a set as problems, downloaded from the Hub or read from the same files in `folder`.

    Raises UnknownName for a set there is none of, SourceError when a file cannot be had, lacks a column, or has fewer
    usable rows than the sample.
    """
    if name not in CORPORA:
        raise UnknownName(f"There is no set {name!r}.", f"Sets: {', '.join(CORPORA)}.")
    corpus = CORPORA[name]
    usable: dict[str, tuple[str, str]] = {}
    for file in corpus.files:
        for row in _rows(_locate(corpus, file, folder)):
            question, answer = _pair(row, corpus)
            if question and answer and not any(word in question.lower() for word in corpus.skip):
                usable.setdefault(_place(question, corpus), (question, answer))
    chosen = sorted(usable)[_offset(corpus) : _offset(corpus) + corpus.sample]
    if len(chosen) < corpus.sample:
        raise SourceError(
            f"{corpus.repository} has {len(usable)} usable rows; the sample {name} needs {corpus.sample}.",
            "It may have changed on the Hub.",
        )
    return [
        Problem(f"{name}/{number}", name, f"{corpus.repository}/{place}", "en", *usable[place], corpus.kind)
        for number, place in enumerate(chosen, 1)
    ]


def _offset(corpus: Corpus) -> int:
    """Where a sample begins: the validation sample follows the training sample of the same set."""
    return CORPORA["deepmath_train"].sample if corpus.part == "validation" else 0


def _place(question: str, corpus: Corpus) -> str:
    return hashlib.sha256(f"{corpus.repository}\n{question}".encode()).hexdigest()[:16]


def _pair(row: Row, corpus: Corpus) -> tuple[str, str]:
    for column in (corpus.question, corpus.answer):
        if column not in row:
            raise SourceError(
                f"{corpus.repository} has no column {column!r}; it has {', '.join(map(str, row))}.",
                "It may have changed on the Hub.",
            )
    answer = row[corpus.answer]
    if isinstance(answer, str | int | float):
        return str(row[corpus.question]).strip(), str(answer).strip()
    values = [] if answer is None else list(answer)
    return str(row[corpus.question]).strip(), str(values[0]).strip(" $") if len(values) == 1 else ""


def _locate(corpus: Corpus, file: str, folder: str | Path | None) -> Path:
    if folder is not None:
        path = Path(folder) / corpus.repository / file
        if not path.exists():
            raise SourceError(
                f"{path} is not there.", f"Put {file} of {corpus.repository} there, or leave out --sources."
            )
        return path
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(corpus.repository, file, repo_type="dataset", revision=corpus.revision))
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SourceError(
            f"{file} of {corpus.repository} cannot be had from the Hub: {why}",
            "Check the network and HF_ENDPOINT, or give a folder with the files: --sources.",
        ) from None


def _rows(path: Path) -> Iterator[Row]:
    try:
        if path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as lines:
                yield from (json.loads(line) for line in lines if line.strip())
            return
        import pandas

        table = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path, dtype=str)
        yield from ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))
    except (ValueError, OSError) as error:
        raise SourceError(f"{path.name} cannot be read: {error}.") from None
