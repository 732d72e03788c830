"""Submissions as strangers send them: sound ones pass, everything else is refused with the path of its field."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from synthetic_submissions import make_submission

from multilingual_math_audit.cli import cli
from multilingual_math_audit.submissions.question_sets import question_sets
from multilingual_math_audit.submissions.submission import MAX_BYTES, json_schema
from multilingual_math_audit.submissions.validate import check

SMALL = ("aime2026_en",)


def small(seed: int = 1, **options: Any) -> dict[str, Any]:
    return make_submission(seed, benchmarks=SMALL, **options)


def faults_of(content: Any) -> list[str]:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return [str(fault) for fault in check(data).faults]


def changed(path: str, value: Any, base: dict[str, Any] | None = None) -> dict[str, Any]:
    """A small submission with one field set, or removed where the value is `...`."""
    content = copy.deepcopy(base or small())
    *parents, last = path.split("|")
    part: Any = content
    for name in parents:
        part = part[int(name) if isinstance(part, list) else name]
    place = int(last) if isinstance(part, list) else last
    if value is ...:
        del part[place]
    else:
        part[place] = value
    return content


def test_sound_submissions_pass() -> None:
    """Generated submissions of every shape are sound, so that a refusal below has the cause it names."""
    for seed in range(10):
        assert faults_of(make_submission(seed, judges=("a/J1", "J2"), audit=True)) == []
    without_judge = small(judges=())
    assert faults_of(without_judge) == []


BENCH = "benchmarks|aime2026_en"
JUDGE = f"{BENCH}|judges|judge/J1"
IMPOSSIBLE = [
    (f"{BENCH}|correct|0", 65, "benchmarks.aime2026_en.correct[0]: 65 is more than the 64 graded samples"),
    (f"{BENCH}|n|3", 63, "benchmarks.aime2026_en.n[3]: 63 is not 64"),
    (f"{BENCH}|stopped|0", 65, "stopped[0]: 65 is more than the 64 samples"),
    (f"{BENCH}|ungraded|0", 64, "is more than the"),
    (f"{BENCH}|correct|0", -1, "benchmarks.aime2026_en.correct[0]: Input should be greater than or equal to 0"),
    (f"{BENCH}|correct|0", 1.5, "benchmarks.aime2026_en.correct[0]"),
    (f"{BENCH}|correct|0", "3", "benchmarks.aime2026_en.correct[0]: Input should be a valid integer"),
    (f"{BENCH}|correct|0", True, "benchmarks.aime2026_en.correct[0]"),
    (f"{BENCH}|correct|0", None, "benchmarks.aime2026_en.correct[0]"),
    (f"{BENCH}|correct|0", 10**40, "benchmarks.aime2026_en.correct[0]"),
    (f"{BENCH}|questions|0", ..., "numbers for 29 questions"),
    (f"{BENCH}|questions|0", "aime2026_en/2", "aime2026_en/2 more than once"),
    (f"{BENCH}|questions|0", "aime2026_en/31", "has no aime2026_en/31"),
    (f"{BENCH}|questions|0", "../../etc/passwd", "has no ../../etc/passwd"),
    (f"{BENCH}|digest", "0123456789abcdef", "is no known state"),
    (f"{BENCH}|completion_tokens|0", 10**13, "is more than the"),
    (f"{BENCH}|ungraded", ..., "benchmarks.aime2026_en.ungraded: missing; a run always has it"),
    (f"{JUDGE}|judged|0", 64, "judged[0]"),
    (f"{JUDGE}|pending|0", 64, "judged[0]"),
    (f"{JUDGE}|approved|majority|0", 64, "approved.majority[0]: 64 is more than"),
    (f"{JUDGE}|approved|all|0", 64, "approved.all[0]"),
    (f"{JUDGE}|single_vote|0", 64, "single_vote[0]"),
    (f"{JUDGE}|credited|0", 64, "credited[0]"),
    (f"{JUDGE}|judgments|0", 1000, "judgments[0]"),
    (f"{JUDGE}|no_verdict|no_box|0", 1000, "no_verdict[0]"),
    (f"{JUDGE}|no_verdict", ..., "no_verdict: missing"),
    ("judges", {}, "this judge is not described"),
    ("solver", ..., "solver: missing"),
    ("solver|released", "2026-02-30", "solver.released: is not a day"),
    ("solver|released", "2027-01-01", "is after the run's day"),
    ("solver|settings|budget", ..., "solver.settings.budget: missing"),
    ("solver|settings|temperature", "0.6", "solver.settings.temperature"),
    ("solver|model", "../../etc/passwd", "solver.model"),
    ("solver|model", "a/../b", "solver.model"),
    ("solver|model", "<script>alert(1)</script>", "solver.model"),
    ("submitter|name", "x\u202egnp.exe", "U+202E"),
    ("submitter|name", "a\x00b", "U+0000"),
    ("submitter|name", "a" * 501, "submitter.name"),
    ("submitter|url", "javascript:alert(1)", "submitter.url"),
    ("benchmarks", {}, "a solver without counts"),
    ("format", "multilingual-math-audit/submission-2", "format"),
    ("score", 0.99, "score: Extra inputs are not permitted"),
    ("n_questions", 10**9, "n_questions: Extra inputs are not permitted"),
    ("published", {"credit": "x", "url": "https://a.b"}, "published"),
]


@pytest.mark.parametrize(("path", "value", "expected"), IMPOSSIBLE, ids=range(len(IMPOSSIBLE)))
def test_impossible_fields_are_named(path: str, value: Any, expected: str) -> None:
    """Each impossible value is refused, and a fault names its place."""
    found = faults_of(changed(path, value))
    assert any(expected in fault for fault in found), found


def test_unknown_benchmark_is_refused() -> None:
    """A benchmark that does not exist has no question set to be compared with."""
    content = small()
    content["benchmarks"]["aime2027"] = content["benchmarks"]["aime2026_en"]
    assert any(fault.startswith("benchmarks.aime2027: no such benchmark") for fault in faults_of(content))


HOSTILE = [
    (b'{"format": NaN}', "NaN is no number"),
    (b'{"a": -Infinity}', "-Infinity is no number"),
    (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
    (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
    (b'{"a": ' + b'{"b":' * 100_000, "nested too deep"),
    (b'{"a": ' + b"9" * 10_000 + b"}", "thousands of digits"),
    (b'"text"', "a JSON object is asked for"),
    (b"\xff\xfe{}", "not UTF-8"),
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b'{"format": "\\ud800"}', "format"),
    (b'{"a": "' + b"x" * 5_000_000 + b'"}', "a submission has at most"),
]


@pytest.mark.parametrize(("data", "expected"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bytes_are_refused(data: bytes, expected: str) -> None:
    """What is no plain JSON object is refused with one sentence, whatever it is."""
    found = faults_of(data)
    assert any(expected in fault for fault in found), [fault[:200] for fault in found]
    assert all(len(fault) < 1000 for fault in found)


def test_markup_in_every_string_is_refused_or_kept_as_text() -> None:
    """A tag put into any string field either is refused or stays that very text."""
    bad = '<img src=x onerror="alert(1)">'
    base = small(audit=True)

    def strings(part: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        if isinstance(part, dict):
            return [place for key, value in part.items() for place in strings(value, (*path, key))]
        return [path] if isinstance(part, str) else []

    for place in strings(base):
        checked = check(json.dumps(changed("|".join(place), bad, base)).encode())
        if checked.submission is not None:
            assert place == ("submitter", "name")
            assert checked.submission.submitter.name == bad


def mutate(dice: random.Random, content: Any) -> Any:
    """One random change somewhere: a number, a key, a list, a type."""
    places: list[tuple[Any, Any]] = []

    def walk(part: Any) -> None:
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, value in items:
            places.append((part, key))
            walk(value)

    walk(content)
    numbers = [(part, key) for part, key in places if type(part[key]) is int]
    part, key = dice.choice(numbers if dice.random() < 0.6 else places)
    old = part[key]
    kind = dice.randrange(8)
    if kind < 3 and type(old) is int:
        part[key] = old + dice.choice([-2, -1, 1, 2, 64, 10**6, -(10**9)])
    elif kind == 3:
        del part[key]
    elif kind == 4 and isinstance(part, list):
        part.insert(key, copy.deepcopy(dice.choice(part)))
    elif kind == 5:
        part[key] = dice.choice([None, True, "x", "", [], {}, 1.5, float("nan"), -0.0, 2**63, "\u202e", [[[]]]])
    elif kind == 6 and isinstance(part, dict):
        part[dice.choice(["extra", "", "__proto__", "any", "\u202e", "a" * 200, str(key) + " "])] = old
    else:
        other = dice.choice(places)
        part[key] = copy.deepcopy(other[0].get(other[1]) if isinstance(other[0], dict) else old)
    return content


def assert_possible(content: dict[str, Any]) -> None:
    """What must hold of counts, written anew in plain Python: an oracle apart from the checks under test."""
    for name, counts in content["benchmarks"].items():
        known = question_sets()[name]
        questions = counts["questions"]
        nothing = [0] * len(questions)
        assert sorted(questions) == sorted(known.counted)
        for i in range(len(questions)):
            n, c = counts["n"][i], counts["correct"][i]
            assert n == counts["samples"]
            assert 0 <= c <= n - counts["ungraded"][i]
            assert 0 <= counts.get("stopped", nothing)[i] <= n
            for label, judged in counts["judges"].items():
                asked = content["judges"][label].get("judgments", 3)
                early = content["judges"][label].get("stop_early") is not None
                j = judged["judged"][i]
                assert j >= 0
                assert judged["pending"][i] >= 0
                assert j + judged["pending"][i] == c
                approved = {key: column[i] for key, column in judged["approved"].items() if column is not None}
                assert all(0 <= value <= j for value in approved.values())
                ladder = [approved[key] for key in ("all", "strict_majority", "majority", "any") if key in approved]
                assert ladder == sorted(ladder)
                missing = sum(column[i] for column in judged["no_verdict"].values())
                assert 0 <= missing <= judged["judgments"][i] <= asked * c
                assert early or judged["judgments"][i] >= asked * j
                if "stopped" in judged:
                    assert judged["no_verdict"].get("stopped_at_limit", nothing)[i] <= judged["stopped"][i]
                    assert judged["stopped"][i] <= judged["judgments"][i]
                assert judged["single_vote"][i] <= approved.get("majority", j) <= j
                assert approved.get("majority", 0) <= judged.get("credited", judged["judged"])[i] <= j


@pytest.mark.slow
def test_fuzz_accepts_nothing_impossible() -> None:
    """5,000 mutated files: no exception, and whatever is accepted passes an oracle of its own."""
    dice = random.Random(8)
    bases = [json.dumps(small(seed, audit=seed % 2 == 0)) for seed in range(6)]
    accepted = 0
    for _ in range(5_000):
        content = json.loads(dice.choice(bases))
        for _ in range(dice.choice([1, 1, 2, 3])):
            content = mutate(dice, content)
        checked = check(json.dumps(content).encode())
        assert (checked.submission is None) == bool(checked.faults)
        if checked.submission is not None:
            accepted += 1
            assert_possible(content)
    assert 50 < accepted < 2_500


def test_size_limit_comes_first() -> None:
    """A file beyond the limit is not even parsed."""
    assert "bytes" in faults_of(b"[" * (MAX_BYTES + 1))[0]


def test_the_schema_file_is_the_model(root: Path) -> None:
    """`schema/submission-1.json` is generated; MATH_AUDIT_WRITE_SCHEMA=1 writes it anew."""
    import os

    path = root / "submissions" / "schema" / "submission-1.json"
    text = json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("MATH_AUDIT_WRITE_SCHEMA"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_question_sets_are_the_catalogue() -> None:
    """The ids the board knows are those of the benchmarks, and the starter's key digests are those of its problems."""
    from multilingual_math_audit.benchmarks.catalogue import benchmark_names, find_spec
    from multilingual_math_audit.loaders.problems import load_benchmark
    from multilingual_math_audit.submissions.pack import keys_digest

    assert set(question_sets()) == set(benchmark_names())
    for name, known in question_sets().items():
        spec = find_spec(name)
        assert (known.first, known.last) == (spec.first, spec.first + spec.rows - 1)
        assert (known.language, known.samples, known.title) == (spec.language, spec.samples, spec.title)
        assert known.errata == {f"{name}/{erratum.row}" for erratum in spec.errata if erratum.exclude}
        if spec.ships:
            problems = load_benchmark(name)
            assert [problem.id for problem in problems] == list(known.counted)
            assert keys_digest([(problem.id, problem.answer) for problem in problems]) in known.digests


def test_the_command_prints_all_faults_of_all_files(tmp_path: Path) -> None:
    """`math-audit validate` goes through every file, names every fault, and exits with 1."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(small()), encoding="utf-8")
    content = changed(f"{BENCH}|correct|0", 65)
    content["benchmarks"]["aime2026_en"]["stopped"][5] = 70
    bad.write_text(json.dumps(content), encoding="utf-8")
    result = CliRunner().invoke(cli, ["validate", str(good), str(bad), str(tmp_path / "absent.json")])
    assert result.exit_code == 1
    assert "good.json: sound" in result.output
    assert "correct[0]: 65" in result.output
    assert "stopped[5]: 70" in result.output
    assert "cannot be read" in result.output
