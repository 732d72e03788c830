"""Classes from letters, the labelled segments, and the detectors with a real fastText model."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import hub_server
import numpy as np
import pytest
from click.testing import CliRunner

from multilingual_math_audit.commands.languages import command
from multilingual_math_audit.errors import SourceError, UnknownName
from multilingual_math_audit.evaluate import identify
from multilingual_math_audit.evaluate.identify import (
    GLOTLID_FILE,
    GLOTLID_REPOSITORY,
    Label,
    fold_label,
    open_detector,
    open_glotlid,
)
from multilingual_math_audit.evaluate.language import (
    ChainLanguage,
    Clock,
    Text,
    classify_letters,
    identify_text,
    identify_texts,
    layers_agree,
)
from multilingual_math_audit.evaluate.masking import MaskLid, MaskSettings, flores_labels

WORDS = {
    "eng_Latn": [
        "the",
        "and",
        "that",
        "with",
        "from",
        "this",
        "have",
        "which",
        "then",
        "because",
        "number",
        "equation",
        "answer",
        "therefore",
        "where",
    ],
    "tur_Latn": [
        "bir",
        "ve",
        "için",
        "olan",
        "sayı",
        "denklem",
        "çünkü",
        "ise",
        "değil",
        "olarak",
        "sonuç",
        "böylece",
        "buradan",
        "eşit",
        "toplam",
    ],
    "por_Latn": [
        "uma",
        "que",
        "para",
        "com",
        "não",
        "número",
        "equação",
        "porque",
        "então",
        "portanto",
        "onde",
        "igual",
        "soma",
        "logo",
        "resposta",
    ],
}


class Fixed:
    """A detector that labels by the first word."""

    name = "fixed"

    def label(self, segments: list[str]) -> list[Label]:
        """`xx ...` is language xx."""
        return [Label(fold_label(segment.split()[0]), 1.0 if "sure" in segment else 0.4) for segment in segments]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fastText model of three languages, trained here in a second."""
    fasttext = pytest.importorskip("fasttext", reason="needs fastText")
    folder = tmp_path_factory.mktemp("fasttext")
    generator = np.random.default_rng(0)
    lines = [
        f"__label__{label} {' '.join(generator.choice(words, size=8))}"
        for label, words in WORDS.items()
        for _ in range(400)
    ]
    generator.shuffle(lines)
    (folder / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = fasttext.train_supervised(
        str(folder / "train.txt"), dim=16, epoch=15, lr=0.5, minn=2, maxn=4, bucket=20_000, thread=1, verbose=0
    )
    model.save_model(str(folder / "model.bin"))
    return folder / "model.bin"


def sentence(label: str, *, size: int = 12) -> str:
    """A sentence of a language's words."""
    return " ".join(WORDS[label][index % 15] for index in range(size))


def test_classes_at_their_edges() -> None:
    """Exactly 80% is enough; a hair less is mixed; English in an English benchmark is the target."""
    assert classify_letters({"por": 80, "eng": 20}, "pt") == "target"
    assert classify_letters({"por": 79, "eng": 21}, "pt") == "mixed"
    assert classify_letters({"por": 20, "eng": 80}, "pt") == "english"
    assert classify_letters({"eng": 100}, "en") == "target"
    assert classify_letters({"zho": 100}, "tr") == "mixed"
    assert classify_letters({"por": 75, "eng": 25}, "pt", threshold=0.7) == "target"


def test_letters_by_language_and_what_is_left_out() -> None:
    """und and zxx leave the denominator, near languages are folded, weak labels are counted, restatements dropped."""
    text = Text(
        "1",
        "azj_Latn words that are sure and long enough\nzxx_Latn nothing of these letters counts\n"
        "eng_Latn some other weak segment of letters\nfind smallest positive integer",
        "tr",
        "Find the smallest positive integer",
    )
    record = identify_text(text, Fixed())
    assert record.letters == {"eng": 36, "tur": 36}
    assert record.outside == 34
    assert (record.segments, record.weak, record.restated) == (3, 2, 1)
    assert record.classify() == "mixed"
    english = identify_text(Text("1", text.text, "en", text.question), Fixed())
    assert english.restated == 0


def test_labelled_segments_by_the_fallback(root: Path) -> None:
    """At least 95% of the labelled segments are classed right by lingua, every kind but Galician at 90% or more."""
    pytest.importorskip("lingua", reason="needs lingua")
    rows = [json.loads(line) for line in (root / "tests/cases/language_segments.jsonl").open(encoding="utf-8")]
    assert len(rows) >= 150
    detector, warning = open_detector("lingua")
    assert warning is None
    right: dict[str, list[bool]] = {}
    for number, row in enumerate(rows):
        record = identify_text(Text(str(number), row["text"], row["language"]), detector)
        right.setdefault(row["kind"], []).append(record.classify() == row["expected"])
    every = [one for kind in right.values() for one in kind]
    assert sum(every) / len(every) >= 0.95
    assert {kind: np.mean(found) for kind, found in right.items() if kind != "gl-folded" and np.mean(found) < 0.9} == {}


def test_real_fasttext_model(trained: Path) -> None:
    """A trained model labels segments with line breaks; an empty one is und; a missing or broken file is named."""
    detector = open_glotlid(trained)
    labels = detector.label([sentence("tur_Latn") + "\nve", sentence("eng_Latn"), sentence("por_Latn"), ""])
    assert [label.language for label in labels[:3]] == ["tur", "eng", "por"]
    assert all(label.share > 0.9 for label in labels[:3])
    assert labels[3] == ("und", 0.0)
    assert detector.label([]) == []
    assert detector._output is not None
    texts = [sentence(label, size=size) for label in WORDS for size in (3, 9)] + ["denklem and soma 12", "xyz"]
    for ours, theirs in zip(detector.label(texts), detector._predict(texts), strict=True):
        assert ours.language == theirs.language
        assert ours.share == pytest.approx(theirs.share, abs=1e-4)
    with pytest.raises(SourceError, match="no model at"):
        open_glotlid(trained.parent / "none.bin")
    (trained.parent / "broken.bin").write_bytes(b"no model")
    with pytest.raises(SourceError, match="not a fastText model"):
        open_detector("auto", model=trained.parent / "broken.bin")


def test_word_scores_are_the_classifiers_own(trained: Path) -> None:
    """The softmax over a word's rows and the end mark is what the model predicts (it adds 1e-5 to each share), and a
    word's scores are those of its rows alone."""
    detector = open_glotlid(trained)
    model, masker = detector.model, MaskLid(detector)
    rows, (output, embedded) = model.get_subwords("denklem")[1], (model.get_output_matrix(), model.get_input_matrix())
    with_end = output @ embedded[[*rows, *model.get_subwords("</s>")[1]]].mean(axis=0)
    shares = np.exp(with_end - with_end.max()) / np.exp(with_end - with_end.max()).sum()
    labels, predicted = model.predict("denklem", k=3)
    ours = [shares[masker.labels.index(label.removeprefix("__label__"))] for label in labels]
    assert np.allclose(ours, predicted - 1e-5, atol=1e-5)
    assert np.allclose(masker._score_words(["denklem"])[0], output @ embedded[rows].mean(axis=0), atol=1e-4)
    assert sorted(masker.labels) == sorted(WORDS)


def test_masking_finds_both_languages(trained: Path) -> None:
    """A text that mixes two languages gives both, the longer first; one of a single language gives that one."""
    masker = MaskLid(open_glotlid(trained))
    rules = MaskSettings(alpha=1, beta=1)
    mixed = f"{sentence('tur_Latn', size=15)} {sentence('eng_Latn', size=8)}"
    assert [found.language for found in masker.find(mixed, rules)] == ["tur", "eng"]
    assert [found.language for found in masker.find(sentence("por_Latn"), rules)] == ["por"]
    assert masker.find("") == []
    assert masker.find("ve", rules) == []
    assert len(flores_labels()) == 200


def test_processes_give_the_same_records(trained: Path) -> None:
    """Two processes give the records of one, in order, and time per layer is counted."""
    detector = open_glotlid(trained)
    texts = [Text(str(i), f"{sentence('tur_Latn')}.\n{sentence('eng_Latn', size=i % 9 + 4)}.", "tr") for i in range(40)]
    clock = Clock()
    alone = list(identify_texts(texts, detector))
    together = list(identify_texts(texts, detector, jobs=2, clock=clock))
    assert alone == together
    assert [record.id for record in together] == [str(i) for i in range(40)]
    assert min(clock.stripping, clock.labelling, clock.masking) > 0
    assert layers_agree(alone[0]) is not None


def test_record_comes_back(trained: Path) -> None:
    """A language record survives its JSON line."""
    record = identify_text(Text("1", sentence("tur_Latn"), "tr"), open_glotlid(trained), masker=None)
    assert ChainLanguage.from_json(record.to_json()) == record
    assert record.mixed is None
    assert layers_agree(record) is None


def test_fallback_is_never_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the Hub, `auto` warns and names lingua, `glotlid` refuses; an unknown detector is named."""
    pytest.importorskip("lingua", reason="needs lingua")

    def away(revision: str) -> str:
        raise SourceError("cis-lmu/glotlid cannot be downloaded.")

    monkeypatch.setattr(identify, "_download", away)
    detector, warning = open_detector("auto")
    assert detector.name.startswith("lingua")
    assert "GlotLID cannot be had" in str(warning)
    assert detector.name in str(warning)
    with pytest.raises(SourceError):
        open_detector("glotlid")
    with pytest.raises(UnknownName, match="other"):
        open_detector("other")  # type: ignore[arg-type]
    assert math.isnan(detector.label(["Bu cümle yeterince uzun bir cümledir."])[0].share)


def test_download_from_a_hub(trained: Path, tmp_path: Path) -> None:
    """The pinned revision is asked for, the file is loaded, and the detector's name says the revision.

    In a process of its own, since the Hub's client reads its address when it is imported.
    """
    with hub_server.HubServer() as server:
        repository = server.add_repository("model", GLOTLID_REPOSITORY, {GLOTLID_FILE: trained.read_bytes()})
        revision = next(iter(repository.commits))
        script = (
            "from multilingual_math_audit.evaluate.identify import open_detector\n"
            f"detector, warning = open_detector('auto', revision='{revision}')\n"
            f"print(detector.name, warning, detector.label(['{sentence('por_Latn')}'])[0].language)\n"
        )
        places = {"HF_ENDPOINT": server.endpoint, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **places}, capture_output=True, text=True, timeout=120
        )
        asked = [path for _, path in server.requests if GLOTLID_FILE in path]
    assert done.stdout.split() == ["GlotLID", GLOTLID_FILE, "at", revision[:8], "None", "por"], done.stderr
    assert all(revision in path for path in asked)
    assert asked


def test_command_resumes(trained: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The command records chains and judgments once, names the model, prints the time, and goes on where it stopped."""
    from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
    from multilingual_math_audit.evaluate.chains import read_identified
    from multilingual_math_audit.records import Grade, Judgment, Problem, Solution
    from multilingual_math_audit.store import Run

    run = Run.create(tmp_path / "run", {"solver": {"solver": "m", "mode": "base", "budget": 64}, "samples": {"b": 2}})
    run.add_settings("judges", "j", {"samples": 1})
    run.append([Problem("b/1", "b", "1", "tr", "2+2?", "4", "integer")])
    for number in range(2):
        run.append(
            [
                Solution(f"s{number}", "b/1", "m", number, sentence("tur_Latn")),
                Grade(f"s{number}", GRADER_VERSION, number == 0, "correct" if number == 0 else "wrong"),
            ]
        )
    run.append([Judgment("j0", "s0", "j", 0, sentence("eng_Latn"), "verdict", "yes")])
    arguments = [str(run.folder), "--model", str(trained), "--jobs", "1"]
    first = CliRunner().invoke(command, arguments)
    assert first.exit_code == 0, first.output
    assert "2 texts by fastText model.bin" in first.output
    assert "MaskLID" in first.output
    assert "0 texts" in CliRunner().invoke(command, arguments).output
    assert "1 texts" in CliRunner().invoke(command, [*arguments, "--all"]).output
    found = {item.record.id: item for item in read_identified(run)}
    assert {name: item.record.classify() for name, item in found.items()} == {
        "s0": "target", "s1": "target", "j0": "english",
    }  # fmt: skip
    assert found["s0"].accepted == {"j": True}
    assert found["s1"].accepted == {}
    assert (found["j0"].by, found["j0"].benchmark) == ("j", "b")


def test_one_endless_word_does_not_hold_lingua_up() -> None:
    """A million letters without a space are labelled at once, and a sentence before such a word counts."""
    pytest.importorskip("lingua")
    detector = identify.LinguaDetector()
    start = time.process_time()
    sentence = "bu sayının bütün bölenlerinin toplamı her zaman çift bir sayıdır " * 80
    labels = detector.label(["x" * 1_000_000, sentence + "x" * 100_000])
    assert time.process_time() - start < 10
    assert labels[1].language == "tur"
