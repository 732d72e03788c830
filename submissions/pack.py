"""From a run to its submission: counts and settings, never a text."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from multilingual_math_audit.errors import AuditError
from multilingual_math_audit.evaluate.chains import read_identified
from multilingual_math_audit.evaluate.counts import JudgeCounts, QuestionCounts
from multilingual_math_audit.evaluate.score import count_questions
from multilingual_math_audit.evaluate.verdicts import STRATEGIES
from multilingual_math_audit.records import Grade, Judgment, Problem, Solution, digest
from multilingual_math_audit.store import Run, write_atomically
from multilingual_math_audit.submissions.audits import Found as FoundAudit
from multilingual_math_audit.submissions.audits import day_of, find_audits, is_panel
from multilingual_math_audit.submissions.submission import FORMAT, RawRun, Submission

REASONS = ("stopped_at_limit", "no_box", "not_yes_no", "error")


@dataclass(frozen=True, slots=True)
class About:
    """What a run does not know about itself and a board wants to show."""

    submitter: str = "not given"
    family: str | None = None
    parameters: float | None = None
    released: str | None = None
    contact: str | None = None
    note: str | None = None
    raw_run: RawRun | None = None


def pack(run: Run, about: About | None = None, *, panels: Sequence[str | Path] = ()) -> Submission:
    """The submission of a run: per-question counts, settings, digests of the record files, audits of judges.

    Audits are those of RUN/panel, or of `panels`; a judge that was audited and judged nothing of the run stands there
    with its audit alone. Of a panel, the submission is its audits and no solver. Raises AuditError when the run's
    settings do not fit the form, UsageError for a folder that is no panel.
    """
    known = about or About()
    alone = is_panel(run)
    content = {
        "format": FORMAT,
        "origin": "import" if "imported" in run.settings.get("solver", {}) else "run",
        "submitter": _present({"name": known.submitter, "contact": known.contact}),
        "day": day_of(run),
        "solver": None if alone else _solver(run, known),
        "judges": _judges(run, find_audits(run, panels)),
        "benchmarks": {} if alone else pack_counts(run),
        "records": {
            kind.file: _file_digest(run.path(kind)) for kind in (Problem, Solution, Grade, Judgment) if run.has(kind)
        },
        "verifier": None if alone else _verifier(run),
        "raw_run": known.raw_run.model_dump(exclude_none=True) if known.raw_run else None,
        "note": known.note,
    }
    try:
        return Submission.model_validate(_present(content))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise AuditError(f"The run at {run.folder} does not fit a submission: {where}: {first['msg']}.") from None


def _verifier(run: Run) -> dict[str, Any] | None:
    """What `verifier select` counted in this run, if it was called."""
    try:
        counted: dict[str, Any] = orjson.loads((run.folder / "verifier.json").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, orjson.JSONDecodeError) as error:
        raise AuditError(f"{run.folder}/verifier.json cannot be read: {error}.", "Select again.") from None
    return _present({**counted, "model": label_of(str(counted.get("model")))})


def write_submission(run: Run) -> Path:
    """Write `submission.json` into the run folder and give its path."""
    path = run.folder / "submission.json"
    write_atomically(path, pack(run).to_json())
    return path


def refresh_submission(folder: Path) -> None:
    """Write `submission.json` of a run anew where there is one, so that it holds what was found out since."""
    if (folder / "submission.json").is_file() and (folder / "manifest.json").is_file():
        write_submission(Run.open(folder))


def pack_counts(run: Run) -> dict[str, dict[str, Any]]:
    """The counts of a run by benchmark, as the columns of a submission."""
    cells: dict[str, list[QuestionCounts]] = defaultdict(list)
    for question in count_questions(run):
        cells[question.benchmark].append(question)
    keys: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for problem in run.read(Problem):
        keys[problem.benchmark].append((problem.id, problem.answer))
    samples, languages = run.settings.get("samples", {}), _languages(run)
    return {
        name: _benchmark(questions, keys_digest(keys[name]), int(samples.get(name, max(q.n for q in questions))))
        | ({"languages": languages[name]} if name in languages else {})
        for name, questions in sorted(cells.items())
    }


def _languages(run: Run) -> dict[str, dict[str, Any]]:
    """By benchmark, the chains that `languages` looked at, by the language they are written in."""
    classes: dict[str, Counter[str]] = defaultdict(Counter)
    detectors: dict[str, set[str]] = defaultdict(set)
    for found in read_identified(run):
        if found.record.of == "chain":
            classes[found.benchmark][found.record.classify()] += 1
            detectors[found.benchmark].add(found.record.detector)
    return {
        name: {kind: counts[kind] for kind in ("target", "mixed", "english")}
        | {"detector": label_of(" and ".join(sorted(detectors[name])))}
        for name, counts in classes.items()
    }


def keys_digest(keys: Sequence[tuple[str, str]]) -> str:
    """A digest of question ids and keys: the same whatever the wording of the questions.

    >>> keys_digest([("b", "2"), ("a", "1")]) == keys_digest([("a", "1"), ("b", "2")])
    True
    """
    return digest(sorted([list(pair) for pair in keys]))


def label_of(name: str) -> str:
    """A model's name as a label: of a local path its last part, and no sign a label cannot have.

    >>> label_of("/models/SmolLM2-135M-Instruct/"), label_of("Qwen/Qwen3.5-4B")
    ('SmolLM2-135M-Instruct', 'Qwen/Qwen3.5-4B')
    """
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    kept = parts[-1:] if name.startswith(("/", ".", "~")) else parts[-2:]
    text = re.sub(r"[^A-Za-z0-9._+:/@() -]", "-", "/".join(kept))[:96].lstrip("._+:/@() -")
    return " ".join(text.split()) or "unnamed"


def _benchmark(questions: Sequence[QuestionCounts], keys: str, samples: int) -> dict[str, Any]:
    labels = sorted({label for question in questions for label in question.judges})
    return {
        "digest": keys,
        "samples": samples,
        "questions": [question.problem_id for question in questions],
        **{column: [getattr(question, column) for question in questions] for column in ("n", "correct", "ungraded")},
        **_said(questions),
        "judges": {label_of(label): _judge_columns([q.judges.get(label) for q in questions]) for label in labels},
    }


def _said(counts: Sequence[QuestionCounts | JudgeCounts | None]) -> dict[str, list[int]]:
    """Stops and tokens by question; a column is left out when another harness did not say it of every sample."""
    there = [count for count in counts if count is not None]
    silent = {
        "stopped": any(count.unknown_stops for count in there),
        "completion_tokens": any(count.unknown_tokens for count in there),
    }
    return {
        name: [getattr(count, name) if count is not None else 0 for count in counts]
        for name, unsaid in silent.items()
        if not unsaid
    }


def _judge_columns(counts: Sequence[JudgeCounts | None]) -> dict[str, Any]:
    there = [count for count in counts if count is not None]
    strategies = [strategy for strategy in STRATEGIES if all(strategy in count.approved for count in there)]
    said = _said(counts)
    names = ["judged", "pending", "judgments", "copied", "single_vote", *(["credited"] if "stopped" in said else [])]
    return said | {
        **{name: [getattr(count, name) if count is not None else 0 for count in counts] for name in names},
        "approved": {
            strategy: [count.approved[strategy] if count is not None else 0 for count in counts]
            for strategy in strategies
        },
        "no_verdict": {
            reason: [count.no_verdict.get(reason, 0) if count is not None else 0 for count in counts]  # type: ignore[call-overload]
            for reason in REASONS
        },
    }


def _model(run: Run, role: str, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    engines: list[dict[str, Any]] = [
        entry for entry in run.manifest.get("engines", []) if entry.get("role") == role and entry.get("name") == name
    ]
    engine = engines[-1] if engines else {}
    settings = {
        "budget": facts.get("budget"),
        "temperature": _float(facts.get("temperature")),
        "top_p": _float(facts.get("top_p")),
        "engine": engine.get("engine"),
        "versions": {label_of(str(k)): label_of(str(v)) for k, v in dict(engine.get("versions", {})).items() if v},
        "shots": None if "imported" in facts else int(facts.get("shots", 0)),
        "prompt_digest": facts.get("prompt"),
        "template_digest": engine.get("template"),
    }
    revision = facts.get("revision") or engine.get("revision")
    return {
        "model": label_of(name),
        "revision": label_of(str(revision)) if revision else None,
        "mode": facts.get("mode", "unknown"),
        "settings": {key: value for key, value in settings.items() if value is not None or key == "budget"},
    }


def _solver(run: Run, known: About) -> dict[str, Any]:
    facts = run.settings.get("solver", {})
    model = _model(run, "solver", str(facts.get("solver", "unknown")), facts)
    return model | {"family": known.family, "parameters": known.parameters, "released": known.released}


def _judges(run: Run, audits: Sequence[FoundAudit]) -> dict[str, dict[str, Any]]:
    """The run's judges with their audits, then those that were audited only."""
    facts: Mapping[str, Any] = {} if is_panel(run) else run.manifest.get("judges", {})
    if alike := [name for name, times in Counter(map(label_of, facts)).items() if times > 1]:
        names = sorted(name for name in facts if label_of(name) == alike[0])
        raise AuditError(
            f"The judges {' and '.join(names)} would both be called {alike[0]} in a submission.",
            "Submit a run that only one of them judged.",
        )
    judges = {label_of(name): _judge(run, name, settings) for name, settings in facts.items()}
    for found in audits:
        described = _judge(found.panel, found.judge, found.settings)
        label = label_of(found.judge)
        # An audit in another mode says nothing of the judge in this one: it stands beside it.
        if label in judges and judges[label]["mode"] != described["mode"]:
            label = f"{label} ({described['mode']})"
        judges[label] = judges.get(label, described) | {"audit": found.audit}
    return judges


def _judge(run: Run, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return _present(
        _model(run, "judge", name, facts)
        | {
            "judgments": int(facts.get("samples", 3)),
            "stop_early": facts.get("stop_early"),
            "dedupe": bool(facts.get("dedupe", False)),
        }
    )


def _present(content: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in content.items() if value is not None}
    return {
        key: _present(value) if key == "solver" and isinstance(value, dict) else value for key, value in kept.items()
    }


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _file_digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
