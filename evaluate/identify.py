"""Who says what language a segment is in: GlotLID where it can be had, or lingua, which ships its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from multilingual_math_audit.errors import MissingExtra, SourceError, UnknownName

GLOTLID_REPOSITORY = "cis-lmu/glotlid"
GLOTLID_FILE = "model_v3.bin"
GLOTLID_REVISION = "85cd6716494360367b75f642b5bc78667605d0b4"
DetectorName = Literal["auto", "glotlid", "lingua"]
FOLDED = {"enm": "eng", "sco": "eng", "glg": "por", "azj": "tur", "aze": "tur", "crh": "tur"}
OUTSIDE = ("und", "zxx")
ISO3 = {"en": "eng", "tr": "tur", "pt": "por"}
PREFIX = "__label__"
PROBES = ("the sum of all numbers is even", "bu sayının toplamı çifttir", "a soma dos números é par")
Matrix = NDArray[np.float32]
LONGEST_LOOK = 5_000  # characters of a segment that lingua is shown: on one long word its time grows with the square


class Label(NamedTuple):
    """The language of a segment as an ISO 639-3 code, near ones folded, and how sure the detector is (0 to 1)."""

    language: str
    share: float


class Detector(Protocol):
    """What labels segments; `name` says which detector with which model, as it stands in every output."""

    @property
    def name(self) -> str:
        """The detector with its model."""
        ...

    def label(self, segments: Sequence[str]) -> list[Label]:
        """One label for each segment, in order."""
        ...


def fold_label(label: str) -> str:
    """A label as three letters, languages near the three of the benchmarks folded into them.

    >>> fold_label("__label__glg_Latn"), fold_label("azj_Latn"), fold_label("eng_Latn"), fold_label("zxx_Latn")
    ('por', 'tur', 'eng', 'zxx')
    """
    code = label.removeprefix(PREFIX).split("_", 1)[0].lower()
    return FOLDED.get(code, code)


@dataclass(frozen=True)
class FastTextDetector:
    """A fastText model of languages: full label set, best label, no threshold."""

    path: str
    name: str

    @cached_property
    def model(self) -> Any:
        """The loaded model; raises MissingExtra without fastText, SourceError for a file that is no model."""
        try:
            import fasttext
        except ImportError:
            raise MissingExtra("Identifying languages with GlotLID", "lang") from None
        try:
            return fasttext.load_model(self.path)
        except (ValueError, RuntimeError, OSError) as error:
            raise SourceError(f"{self.path} is not a fastText model: {error}.") from None

    def label(self, segments: Sequence[str]) -> list[Label]:
        """One label for each segment; line breaks count as spaces, an empty segment is `und`."""
        texts = [" ".join(segment.split()) for segment in segments]
        kept = [text for text in texts if text]
        if not kept:
            return [Label("und", 0.0)] * len(texts)
        found = iter(self._predict(kept) if self._output is None else self._multiply(kept, self._output))
        return [next(found) if text else Label("und", 0.0) for text in texts]

    def _predict(self, texts: Sequence[str]) -> list[Label]:
        labels, shares = self.model.predict(list(texts), k=1)
        return [
            Label(fold_label(found[0]), min(1.0, float(share[0]))) if len(found) else Label("und", 0.0)
            for found, share in zip(labels, shares, strict=True)
        ]

    def _multiply(self, texts: Sequence[str], output: Matrix) -> list[Label]:
        """What `predict` gives for a softmax model, all texts in one product: several times as fast."""
        logits = np.stack([self.model.get_sentence_vector(text) for text in texts]) @ output.T
        best = logits.argmax(axis=1)
        shares = 1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
        return [
            Label(self._labels[index], float(share))
            for index, share in zip(best.tolist(), shares.tolist(), strict=True)
        ]

    @cached_property
    def _labels(self) -> list[str]:
        return [fold_label(label) for label in self.model.get_labels()]

    @cached_property
    def _output(self) -> Matrix | None:
        """The output matrix, where a product with it gives what the model predicts; None for other losses."""
        try:
            output: Matrix = np.asarray(self.model.get_output_matrix(), dtype=np.float32)
            ours, theirs = self._multiply(PROBES, output), self._predict(PROBES)
        except (ValueError, RuntimeError, IndexError):
            return None
        same = all(
            a.language == b.language and abs(a.share - b.share) < 1e-3 for a, b in zip(ours, theirs, strict=True)
        )
        return output if same else None


class LinguaDetector:
    """lingua with the languages that chains are seen to use; Galician, which it does not know, reads as Portuguese."""

    LANGUAGES = ("ENGLISH", "TURKISH", "PORTUGUESE", "SPANISH", "FRENCH", "AZERBAIJANI", "CHINESE", "JAPANESE",
                 "KOREAN", "RUSSIAN", "ARABIC")  # fmt: skip

    def __init__(self) -> None:
        try:
            import lingua
        except ImportError:
            raise MissingExtra("Identifying languages without GlotLID", "lang") from None
        languages = [getattr(lingua.Language, name) for name in self.LANGUAGES]
        self._detector = (
            lingua.LanguageDetectorBuilder.from_languages(*languages).with_preloaded_language_models().build()
        )
        from importlib.metadata import version

        self._name = f"lingua {version('lingua-language-detector')} ({len(languages)} languages)"

    @property
    def name(self) -> str:
        """lingua with its version and number of languages."""
        return self._name

    def label(self, segments: Sequence[str]) -> list[Label]:
        """One label for each segment; `und` where lingua cannot tell. The share is not computed (NaN)."""
        found = [self._detector.detect_language_of(segment[:LONGEST_LOOK]) for segment in segments]
        return [
            Label(fold_label(language.iso_code_639_3.name.lower()), float("nan")) if language else Label("und", 0.0)
            for language in found
        ]


def open_detector(
    name: DetectorName = "auto", *, model: str | Path | None = None, revision: str = GLOTLID_REVISION
) -> tuple[Detector, str | None]:
    """The detector asked for, and a warning where `auto` had to fall back.

    `glotlid` reads `model` or downloads GlotLID from the Hub at the pinned revision; `lingua` needs no network; `auto`
    tries the first and says so when it takes the second. Raises SourceError when GlotLID was asked for and cannot be
    had, MissingExtra when nothing is installed.
    """
    if name not in ("auto", "glotlid", "lingua"):
        raise UnknownName(f"There is no detector {name!r}.", "Detectors: auto, glotlid, lingua.")
    if name == "lingua":
        return LinguaDetector(), None
    try:
        return open_glotlid(model, revision=revision), None
    except (SourceError, MissingExtra) as error:
        if name == "glotlid" or model is not None:
            raise
        fallback = LinguaDetector()
        return fallback, f"GlotLID cannot be had ({error}) Labels are by {fallback.name} instead."


def open_glotlid(model: str | Path | None = None, *, revision: str = GLOTLID_REVISION) -> FastTextDetector:
    """GlotLID from a file, or from the Hub at a revision; the model is loaded before this returns."""
    if model is not None:
        path = Path(model)
        if not path.is_file():
            raise SourceError(f"There is no model at {path}.", "Give the path of GlotLID's model file.")
        detector = FastTextDetector(str(path), f"fastText {path.name}")
    else:
        detector = FastTextDetector(_download(revision), f"GlotLID {GLOTLID_FILE} at {revision[:8]}")
    _ = detector.model
    return detector


def _download(revision: str) -> str:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return str(hf_hub_download(GLOTLID_REPOSITORY, GLOTLID_FILE, revision=revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SourceError(
            f"{GLOTLID_REPOSITORY} at {revision} cannot be downloaded: {reason:.160}.",
            "Give its file as --model, or --detector lingua.",
        ) from None
