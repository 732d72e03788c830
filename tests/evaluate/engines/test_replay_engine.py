"""The replay engine: recorded samples come back whole, and what is not recorded is said aloud."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from multilingual_math_audit.errors import EngineError, RecordError
from multilingual_math_audit.evaluate.engines.catalogue import EngineConfig, open_engine
from multilingual_math_audit.evaluate.engines.protocol import Request, Sample, SamplingSettings
from multilingual_math_audit.records import Judgment, Solution
from multilingual_math_audit.store import Run


def replay(source: Path, *names: str) -> list[Sample]:
    engine = open_engine(EngineConfig("replay", "recorded", recorded=str(source)))
    return list(engine.generate([Request(name, (), 0) for name in names], SamplingSettings()))


def test_a_run_folder_gives_its_solutions_and_judgments_back(tmp_path: Path) -> None:
    """Every field of a Sample survives the way into a run folder and back, in any order; a torn line is passed over."""
    run = Run.create(tmp_path / "run", {})
    run.append([Solution("s1", "p/1", "m", 0, "text\u2028 é", thinking="hm", finish_reason="length", seed=7)])
    run.append([Solution("s2", "p/1", "m", 1, "two", prompt_tokens=3, completion_tokens=4)])
    run.append([Judgment("j1", "s1", "judge", 0, "yes", "verdict", verdict="yes", cached_tokens=5)])
    with (tmp_path / "run" / "solutions.jsonl").open("ab") as file:
        file.write(b'{"id": "s3", "te')
    found = replay(tmp_path / "run", "j1", "s2", "s1")
    assert found == [
        Sample("j1", "yes", cached_tokens=5),
        Sample("s2", "two", prompt_tokens=3, completion_tokens=4),
        Sample("s1", "text\u2028 é", thinking="hm", finish_reason="length", seed=7),
    ]


def test_what_is_not_recorded_is_an_error_after_all_that_is(tmp_path: Path) -> None:
    """Two of three ids are missing: the third comes first, then an error that counts them and names one."""
    file = tmp_path / "samples.jsonl"
    file.write_bytes(orjson.dumps({"request_id": "b", "text": "B", "note": "ignored"}))
    engine = open_engine(EngineConfig("replay", "recorded", recorded=str(file)))
    stream = engine.generate([Request(name, (), 0) for name in "abc"], SamplingSettings())
    assert next(stream).text == "B"
    with pytest.raises(EngineError, match=r"2 of 3 requests are not recorded in .*samples.jsonl\. The first is a\."):
        next(stream)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"text": "no id"}\n', "line 1: a recorded sample has an `id` and a `text`"),
        (b'{"id": "a", "text": "x"}\n{"id": "b"\n', "line 2: not a line of JSON"),
        (b"[1]\n", "line 1: a recorded sample is a JSON object"),
    ],
)
def test_a_file_that_holds_no_samples_names_the_line(tmp_path: Path, content: bytes, said: str) -> None:
    """Damage in a given file is not passed over: it names file and line."""
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(RecordError, match=said):
        replay(tmp_path / "bad.jsonl", "a")


def test_nothing_to_replay(tmp_path: Path) -> None:
    """No source, a missing one and a folder without records each say so."""
    with pytest.raises(EngineError, match="needs recorded samples"):
        open_engine(EngineConfig("replay", "m"))
    with pytest.raises(EngineError, match="There is nothing at"):
        replay(tmp_path / "nothing")
    with pytest.raises(EngineError, match="holds no solutions and no judgments"):
        replay(tmp_path)
