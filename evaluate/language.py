"""The language of chains and judgments: letters by language over segments, and the class that follows."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from multilingual_math_audit.evaluate.identify import ISO3, OUTSIDE, Detector, FastTextDetector, Label
from multilingual_math_audit.evaluate.masking import MaskLid
from multilingual_math_audit.evaluate.prose import (
    count_letters,
    is_restatement,
    question_words,
    split_segments,
    strip_mathematics,
)
from multilingual_math_audit.records import Language, Record

ChainClass = Literal["target", "english", "mixed", "none"]
Of = Literal["chain", "judgment"]
THRESHOLDS = (0.7, 0.8, 0.9)
THRESHOLD = 0.8
CHUNK = 16


@dataclass(frozen=True, slots=True)
class ChainLanguage(Record):
    """The language of one chain or judgment by one detector.

    `letters` are the labelled letters by language; those of `und` and `zxx` are in `outside` and in no share. `weak`
    counts segments whose label has a share below one half, `restated` those dropped as the question's words. `mixed`
    are the languages of the second layer, strongest first, absent where it was not run.
    """

    file: ClassVar[str] = "languages.jsonl"
    id: str
    of: Of
    detector: str
    language: Language
    segments: int
    letters: dict[str, int] = field(default_factory=dict)
    outside: int = 0
    weak: int = 0
    restated: int = 0
    mixed: list[str] | None = None

    @property
    def key(self) -> str:
        return f"{self.of}/{self.id}/{self.detector}"

    def classify(self, threshold: float = THRESHOLD) -> ChainClass:
        """The class of the text, see `classify_letters`."""
        return classify_letters(self.letters, self.language, threshold=threshold)


@dataclass(frozen=True, slots=True)
class Text:
    """One text to identify: whose it is, the benchmark's language, and the question where restatements are dropped."""

    id: str
    text: str
    language: Language
    question: str | None = None
    of: Of = "chain"


@dataclass(slots=True)
class Clock:
    """Seconds spent per layer, over all processes."""

    stripping: float = 0.0
    labelling: float = 0.0
    masking: float = 0.0

    def add(self, other: Clock) -> None:
        """Add another clock's seconds."""
        self.stripping += other.stripping
        self.labelling += other.labelling
        self.masking += other.masking


def classify_letters(letters: Mapping[str, int], language: Language, *, threshold: float = THRESHOLD) -> ChainClass:
    """The class of a text from its letters by language (ISO 639-3).

    `target` if at least `threshold` of the letters are in the benchmark's language, `english` if at least that many are
    English, else `mixed`; `none` without a letter. English in an English benchmark is the target.

    >>> classify_letters({"tur": 80, "eng": 20}, "tr"), classify_letters({"eng": 9, "tur": 1}, "tr")
    ('target', 'english')
    >>> classify_letters({"tur": 60, "eng": 40}, "tr"), classify_letters({}, "tr"), classify_letters({"eng": 5}, "en")
    ('mixed', 'none', 'target')
    """
    total = sum(letters.values())
    if total == 0:
        return "none"
    if letters.get(ISO3[language], 0) >= threshold * total - 1e-9:
        return "target"
    return "english" if letters.get("eng", 0) >= threshold * total - 1e-9 else "mixed"


def segment_text(text: Text) -> tuple[list[str], int]:
    """The segments of a text to be labelled, and how many were dropped as restatements of its question.

    Restatements are looked for only in languages other than English, as in the paper: an English chain on a Turkish
    question does not repeat its words.
    """
    segments = list(split_segments(strip_mathematics(text.text)))
    if text.question is None or text.language == "en":
        return segments, 0
    words = question_words(strip_mathematics(text.question))
    kept = [segment for segment in segments if not is_restatement(segment, words)]
    return kept, len(segments) - len(kept)


def identify_text(
    text: Text, detector: Detector, *, masker: MaskLid | None = None, clock: Clock | None = None
) -> ChainLanguage:
    """The language record of one text, by segments, and by MaskLID where a masker is given."""
    timer = clock or Clock()
    start = time.perf_counter()
    segments, restated = segment_text(text)
    timer.stripping += (stripped := time.perf_counter()) - start
    labels = detector.label(segments)
    timer.labelling += (labelled := time.perf_counter()) - stripped
    mixed = None
    if masker is not None:
        mixed = [found.language for found in masker.find(" ".join(segments))]
        timer.masking += time.perf_counter() - labelled
    return _record(text, segments, labels, (detector.name, restated, mixed))


def _record(
    text: Text, segments: Sequence[str], labels: Sequence[Label], rest: tuple[str, int, list[str] | None]
) -> ChainLanguage:
    name, restated, mixed = rest
    letters: Counter[str] = Counter()
    for segment, label in zip(segments, labels, strict=True):
        letters[label.language] += count_letters(segment)
    outside = sum(letters.pop(code, 0) for code in OUTSIDE)
    return ChainLanguage(
        id=text.id,
        of=text.of,
        detector=name,
        language=text.language,
        segments=len(segments),
        letters=dict(sorted(letters.items())),
        outside=outside,
        weak=sum(label.share < 0.5 for label in labels if not math.isnan(label.share)),
        restated=restated,
        mixed=mixed,
    )


_worker: tuple[Detector, MaskLid | None]


def identify_texts(
    texts: Iterable[Text], detector: Detector, *, mask: bool = True, jobs: int = 1, clock: Clock | None = None
) -> Iterator[ChainLanguage]:
    """The language records of many texts, in order; with `jobs` processes that share the loaded model.

    The second layer needs a fastText model; with another detector it is left out.
    """
    global _worker
    timer = clock or Clock()
    masker = MaskLid(detector) if mask and isinstance(detector, FastTextDetector) else None
    if jobs <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        for text in texts:
            yield identify_text(text, detector, masker=masker, clock=timer)
        return
    _worker = (detector, masker)
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for records, spent in pool.imap(_identify_chunk, _chunks(texts)):
            timer.add(spent)
            yield from records


def _chunks(texts: Iterable[Text]) -> Iterator[list[Text]]:
    chunk: list[Text] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _identify_chunk(chunk: list[Text]) -> tuple[list[ChainLanguage], Clock]:
    detector, masker = _worker
    clock = Clock()
    return [identify_text(text, detector, masker=masker, clock=clock) for text in chunk], clock


def layers_agree(record: ChainLanguage) -> bool | None:
    """Whether the second layer's strongest language is that of most letters; None where either says nothing."""
    if not record.mixed or not record.letters:
        return None
    return record.mixed[0] == max(record.letters, key=lambda code: record.letters[code])
