"""The audit against judges whose behaviour is known, and against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import arithmetic_panel
import pytest
from arithmetic_panel import always_yes, answer_checker, chain_checker, make_run
from chat_server import Answer, ChatServer
from click.testing import CliRunner, Result

from multilingual_math_audit.cli import cli
from multilingual_math_audit.commands.audit import judge_panel
from multilingual_math_audit.errors import UnknownName, UsageError
from multilingual_math_audit.evaluate.audit import Audit, audit_panel, dose_response, plan_panel
from multilingual_math_audit.evaluate.inject import PAPER_EDITS
from multilingual_math_audit.evaluate.panel import PanelPlan, draw_panel, write_panel
from multilingual_math_audit.evaluate.sensitivity import (
    Sensitivity,
    compare_pairs,
    judge_intervals,
    measure_sensitivity,
)
from multilingual_math_audit.evaluate.statistics import Difference, paired_bootstrap
from multilingual_math_audit.records import Judgment, Solution, Verdict, judgment_id
from multilingual_math_audit.runfile import load_config
from multilingual_math_audit.store import Run
from multilingual_math_audit.submissions.pack import write_submission


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def audit_over_http(folder: Path, answer: Answer) -> tuple[Audit, ChatServer]:
    """The audit of a scripted judge served over HTTP."""
    name = answer.__name__  # type: ignore[attr-defined]
    panel = Run.open(folder)
    with ChatServer(answer, model=name) as server:
        config = load_config({"judge": name, "engine": "server", "endpoints": (server.url,)})
        assert judge_panel(panel, config).count == 0
    return audit_panel(panel, name, resamples=2000), server


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight problems in three languages, one original each: 24 originals, 120 variants."""
    folder = tmp_path_factory.mktemp("audit")
    run = make_run(folder / "run", items=8)
    plan = PanelPlan()
    return write_panel(draw_panel(run, plan), run, plan, str(folder / "panel")).folder


def accepted(audit: Audit) -> dict[str, float]:
    return {r.edit: r.value for r in audit.rates if r.group == "all" and r.strategy == "majority"}


def test_a_judge_that_always_says_yes_does_not_react(panel: Path) -> None:
    """All rates are 1, all three numbers 0, the balance 0; 360 judgments are asked, and none when asked again."""
    audit, server = audit_over_http(panel, always_yes)
    assert server.count == 24 * 5 * 3
    assert accepted(audit) == dict.fromkeys(PAPER_EDITS, 1.0)
    found = audit.sensitivity
    assert (found.chain.value, found.answer.value, found.agreement.value, found.balance.value) == (0, 0, 0, 0)
    assert audit.verdict == ("does not react to the tested chain errors",)
    assert audit_over_http(panel, always_yes)[1].count == 0


def test_a_judge_that_knows_the_keys_reacts_to_the_answer_alone(panel: Path) -> None:
    """Right boxes are accepted and wrong ones are not: answer sensitivity 1, chain sensitivity and reward 0."""
    audit, _ = audit_over_http(panel, answer_checker)
    assert accepted(audit) == {
        "clean": 1.0, "intermediate": 1.0, "truncation": 1.0, "final_answer": 0.0, "consistent": 0.0,
    }  # fmt: skip
    found = audit.sensitivity
    assert (found.chain.value, found.answer.value, found.agreement.value, found.balance.value) == (0, 1, 0, 0)
    assert audit.verdict == ("does not react to the tested chain errors",)
    assert "reacts to the final answer alone" in audit.because


def test_a_judge_that_recomputes_reads_the_chain(panel: Path) -> None:
    """Every corrupted variant holds a wrong equation or a box that does not follow: all are rejected, balance 1."""
    audit, _ = audit_over_http(panel, chain_checker)
    assert accepted(audit) == {
        "clean": 1.0, "intermediate": 0.0, "truncation": 0.0, "final_answer": 0.0, "consistent": 0.0,
    }  # fmt: skip
    found = audit.sensitivity
    assert (found.chain.value, found.answer.value, found.agreement.value, found.balance.value) == (1, 1, 0, 1)
    assert audit.verdict == ("reads the chain",)
    contrast = audit.contrasts["majority"][0]
    assert (contrast.only_a, contrast.only_b, contrast.n) == (24, 0, 24)
    assert contrast.p == pytest.approx(2 * 0.5**24)
    assert contrast.p_holm == pytest.approx(4 * 2 * 0.5**24)


def agreement_judge(messages: list[dict[str, str]], seed: int) -> str:
    """Approves whatever box agrees with the last equation, and never looks at the others."""
    prompt = messages[-1]["content"]
    last = arithmetic_panel.EQUATION.findall(prompt)[-1][-1]
    agrees = f"boxed{{{last}}}" in prompt
    return f"\\boxed{{{'yes' if agrees else 'no'}}}"


def test_a_judge_that_looks_for_agreement_is_told_so(panel: Path) -> None:
    """Consistent wrong chains are approved and box-only errors are not: the consistency reward is 1."""
    audit, _ = audit_over_http(panel, agreement_judge)
    assert accepted(audit)["consistent"] == 1.0
    assert accepted(audit)["final_answer"] == 0.0
    assert audit.sensitivity.agreement.value == 1.0
    assert "rewards agreement" in audit.verdict


def test_the_numbers_follow_from_verdicts_by_hand(tmp_path: Path) -> None:
    """Twelve originals with given verdicts: rates, strategies, split and one-vote decisions counted by hand."""
    run = make_run(tmp_path / "run", items=4)
    plan = PanelPlan()
    panel = write_panel(draw_panel(run, plan), run, plan, str(tmp_path / "panel"))
    panel.add_settings("judges", "j", {"samples": 3})
    votes: dict[str, list[Verdict | None]] = {
        "clean": ["yes", "yes", "no"],
        "intermediate": ["yes", None, None],
        "truncation": ["no", "no", None],
        "final_answer": ["no", "yes", None],
        "consistent": ["yes", "yes", "yes"],
    }
    for solution in panel.read(Solution):
        panel.append(judgments(solution, votes[solution.edit or ""]))
    audit = audit_panel(panel, "j", resamples=500)
    rates = {(r.edit, r.strategy): r.accepted for r in audit.rates if r.group == "all"}
    assert [rates["clean", s] for s in ("any", "majority", "all", "strict_majority")] == [12, 12, 0, 12]
    assert [rates["intermediate", s] for s in ("any", "majority", "all", "strict_majority")] == [12, 12, 0, 0]
    assert [rates["final_answer", s] for s in ("any", "majority", "all", "strict_majority")] == [12, 0, 0, 0]
    manners = {m.edit: m for m in audit.manners}
    assert manners["clean"].split == 12
    assert manners["intermediate"].single_vote == 12
    assert manners["intermediate"].no_verdict == {"stopped_at_limit": 24}
    assert manners["final_answer"].split == 12
    assert manners["final_answer"].single_vote == 0
    assert audit.sensitivity.agreement.value == 1.0
    benchmarks = {f"benchmark:jars_{language}" for language in ("en", "tr", "pt")}
    assert {r.group for r in audit.rates} == {"all", *benchmarks, "language:en", "language:tr", "language:pt"}
    assert sum(r.n for r in audit.by_form if r.edit == "intermediate") == 12
    assert sum(r.n for r in audit.by_size if r.edit == "consistent") == 12
    assert sum(r.n for r in audit.by_position) == 12


def judgments(solution: Solution, votes: list[Verdict | None]) -> list[Judgment]:
    return [
        Judgment(
            judgment_id(solution.id, "j", "s", sample), solution.id, "j", sample, "",
            "verdict" if vote else "stopped_at_limit", vote,
        )
        for sample, vote in enumerate(votes)
    ]  # fmt: skip


def test_originals_not_judged_in_all_five_are_pending(tmp_path: Path) -> None:
    """One missing judgment of one variant takes the whole original out of every number, and is counted."""
    run = make_run(tmp_path / "run", items=4)
    plan = PanelPlan()
    panel = write_panel(draw_panel(run, plan), run, plan, str(tmp_path / "panel"))
    panel.add_settings("judges", "j", {"samples": 3})
    spared = next(s.id for s in panel.read(Solution) if s.edit == "truncation")
    for solution in panel.read(Solution):
        panel.append(judgments(solution, ["yes", "yes", "yes"] if solution.id != spared else ["yes", "yes"]))
    audit = audit_panel(panel, "j", resamples=100)
    assert (audit.originals, audit.paired, audit.pending) == (12, 11, 1)
    assert {r.n for r in audit.rates if r.group == "all"} == {11}


def test_an_empty_audit_has_no_numbers_and_says_so(tmp_path: Path) -> None:
    """Without a judgment everything is undefined and absent from the JSON; the verdict is: not enough data."""
    run = make_run(tmp_path / "run", items=2)
    plan = PanelPlan()
    panel = write_panel(draw_panel(run, plan), run, plan, str(tmp_path / "panel"))
    with pytest.raises(UnknownName, match="no judgments of 'j'"):
        audit_panel(panel, "j")
    panel.add_settings("judges", "j", {"samples": 3})
    audit = audit_panel(panel, "j")
    assert math.isnan(audit.sensitivity.chain.value)
    assert audit.verdict == ("not enough data",)
    assert "value" not in audit.to_dict()["sensitivity"]["chain"]
    json.dumps(audit.to_dict(), allow_nan=False)
    run.add_settings("judges", "j", {"samples": 3})
    with pytest.raises(UsageError, match="no variants"):
        audit_panel(run, "j")


@pytest.mark.parametrize(
    ("chain", "agreement", "words"),
    [
        ((0.0, -0.02, 0.03), (0.0, -0.1, 0.1), ("does not react to the tested chain errors",)),
        ((0.0, -0.02, 0.03), (0.2, 0.1, 0.3), ("does not react to the tested chain errors", "rewards agreement")),
        ((0.4, 0.3, 0.5), (-0.1, -0.2, 0.0), ("reads the chain",)),
        ((0.4, 0.3, 0.5), (0.2, 0.1, 0.3), ("reads the chain", "rewards agreement")),
        ((0.05, -0.05, 0.15), (0.0, -0.1, 0.1), ("not enough data",)),
        ((0.05, 0.02, 0.08), (0.0, -0.1, 0.1), ("does not react to the tested chain errors",)),
    ],
)
def test_the_verdict_follows_from_the_intervals_alone(
    chain: tuple[float, float, float], agreement: tuple[float, float, float], words: tuple[str, ...]
) -> None:
    """Each combination of intervals gives the words its rule says."""
    nothing = Difference(0.0, 0.0, 0.0)
    found = Sensitivity(100, 30, Difference(*chain), nothing, Difference(*agreement), nothing)
    assert judge_intervals(found) == words


def test_the_paper_s_three_judges_get_their_verdicts(shared: Path) -> None:
    """From the published 2x2 tables: none of the three reacts to the middle error, two of them reward agreement."""
    tables = json.loads((shared / "reference" / "mcnemar.json").read_text("utf-8"))["pooled"]
    expected = {"V4-Flash": True, "Qwen3.6": True, "R1-distill": False}
    for judge, rewards in expected.items():
        intervals = {}
        for row in (row for row in tables if row["judge"] == judge):
            cells = [
                (1, 1, "both_accept"),
                (1, 0, "a_accept_b_reject"),
                (0, 1, "a_reject_b_accept"),
                (0, 0, "both_reject"),
            ]
            a = [x for x, _, name in cells for _ in range(row[name])]
            b = [y for _, y, name in cells for _ in range(row[name])]
            pair = (row["a"], row["b"])
            intervals[pair] = paired_bootstrap(b, a) if pair[0] == "clean" else paired_bootstrap(a, b)
        found = Sensitivity(
            720, 120, intervals["clean", "intermediate"], intervals["clean", "final_answer"],
            intervals["final_answer", "consistent"], Difference(0, 0, 0),
        )  # fmt: skip
        assert found.verdict()[0] == "does not react to the tested chain errors"
        assert ("rewards agreement" in found.verdict()) is rewards


def test_the_same_problem_in_three_languages_is_one_cluster() -> None:
    """Triplicates give the interval of single copies over questions, and a narrower one over solutions."""
    rows: dict[str, list[bool]] = {edit: [bool(i % 3) for i in range(30)] for edit in PAPER_EDITS}
    rows["intermediate"] = [bool(i % 2) for i in range(30)]
    tripled = {edit: [value for value in values for _ in range(3)] for edit, values in rows.items()}
    clusters = [i for i in range(30) for _ in range(3)]
    single = compare_pairs(rows, list(range(30)))[0]
    triple = compare_pairs(tripled, clusters)[0]
    assert (triple.clustered_low, triple.clustered_high) == pytest.approx((single.low, single.high))
    assert triple.high - triple.low < 0.7 * (triple.clustered_high - triple.clustered_low)
    assert measure_sensitivity(tripled, clusters).questions == 30


def test_further_edits_doses_and_natural_errors_are_reported(tmp_path: Path) -> None:
    """A panel with all further edits: the recomputing judge rejects each dose, and natural errors have a row."""
    run = make_run(tmp_path / "run", items=6, wrong=1)
    result = call(
        "inject", str(run.folder), "-o", str(tmp_path / "panel"), "--natural", "2",
        "--edits", "load_bearing,dose,operator,deletion,swap,foreign,instruction",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    audit, _ = audit_over_http(tmp_path / "panel", chain_checker)
    doses = dose_response(audit)
    assert [n for n, _ in doses] == [0, 1, 2, 4, 8]
    assert [rate.value for _, rate in doses] == [1, 0, 0, 0, 0]
    further = {rate.edit: rate for rate in audit.further}
    assert further["load_bearing"].value == 0
    assert further["instruction"].value == 0
    assert further["foreign"].value == 0
    assert next(r for r in audit.natural if r.group == "all").n == 6


def test_an_interrupted_audit_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A server that fails half of the requests leaves them pending; the same command asks only those again.

    The run's submission, written when it was scored, then holds the audit.
    """
    run = make_run(tmp_path / "run", items=2)
    written = write_submission(run)
    assert json.loads(written.read_text())["judges"] == {}

    def refuse(messages: Any, seed: int) -> Any:
        from chat_server import Fault

        return Fault(status=400, message="no") if seed % 2 else None

    options = ("--engine", "server", "--judge", "always_yes")
    with ChatServer(always_yes, model="always_yes", fault_for=refuse) as server:
        first = call("audit", str(run.folder), *options, "--endpoint", server.url)
    panel = Run.open(run.folder / "panel")
    done = len(list(panel.read(Judgment)))
    assert first.exit_code == 1
    assert 0 < done < 6 * 5 * 3
    with ChatServer(always_yes, model="always_yes") as server:
        second = call("audit", str(run.folder), *options, "--endpoint", server.url)
        assert server.count == 6 * 5 * 3 - done
    assert second.exit_code == 0, second.output
    assert "Judge card:" in second.output
    card = json.loads((panel.folder / "cards" / "always_yes" / "judge_card.json").read_text("utf-8"))
    assert card["audit"]["pending"] == 0
    assert card["audit"]["verdict"] == ["not enough data"]
    counted = json.loads(written.read_text())["judges"]["always_yes"]["audit"]["benchmarks"]
    assert {name: part["accepted"]["clean"]["majority"] for name, part in counted.items()} == {
        "jars_en": 2, "jars_pt": 2, "jars_tr": 2,
    }  # fmt: skip


def test_an_audit_refuses_to_stop_early(panel: Path) -> None:
    """Early stopping would leave judgments out, so the command says to leave the option out."""
    with pytest.raises(UsageError, match="--stop-early"):
        call("audit", str(panel), "--judge", "x", "--stop-early")


def test_a_plan_says_how_large_a_panel_must_be(panel: Path) -> None:
    """+-5 points at 30% discordant pairs need 461 originals (1.96 squared times 0.3 over 0.05 squared)."""
    assert [row.originals for row in plan_panel(0.05) if row.discordant == 0.3] == [461]
    result = call("audit", "--plan", "0.05")
    assert "461" in result.output
    audit_over_http(panel, chain_checker)
    planned = plan_panel(0.05, audit_panel(Run.open(panel), "chain_checker"))
    assert (planned[0].a, planned[0].b) == ("clean", "intermediate")
    assert all(row.originals >= 1 for row in planned)
    for wrong in ("0", "-1", "1", "5", "nan"):
        with pytest.raises(UsageError, match="is no share"):
            call("audit", "--plan", wrong)
