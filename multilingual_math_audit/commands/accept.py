"""`math-audit accept`: take a submission in (maintainers)."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UsageError


@click.command(
    epilog=examples(
        "math-audit accept incoming/0123456789abcdef.json --into accepted",
        "math-audit accept incoming/0123456789abcdef.json --into accepted --run runs/theirs",
        "math-audit accept incoming/0123456789abcdef.json --into accepted --run runs/theirs --rerun runs/ours",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--into", type=click.Path(path_type=Path), required=True, help="The folder of accepted submissions.")
@click.option(
    "--run", "run_folder", type=click.Path(), help="The raw run: counts are recomputed; makes it reproducible."
)
@click.option("--panel", "panels", multiple=True, type=click.Path(), help="A panel of an audit [default: RUN/panel].")
@click.option("--rerun", type=click.Path(), help="Your own rerun of a part; when it agrees, makes it verified.")
@click.option("--changelog", type=click.Path(path_type=Path), help="A file that gets a line about it.")
def command(
    file: Path,
    into: Path,
    run_folder: str | None,
    panels: tuple[str, ...],
    rerun: str | None,
    changelog: Path | None,
) -> None:
    """Check FILE again, decide its level of trust, and write its entry; its file name is the digest of its content.

    Without --run it is self-reported. With --run the counts are recomputed from the records and must be equal. With
    --rerun your own samples must agree with the submitted counts within the interval of their difference.
    """
    from multilingual_math_audit.store import Run
    from multilingual_math_audit.submissions.accept import Trust, accept, read_submission
    from multilingual_math_audit.submissions.pack import pack
    from multilingual_math_audit.submissions.recompute import compare_with_rerun, compare_with_run

    submission = read_submission(file)
    trust: Trust = "self-reported"
    evidence = None
    if run_folder is not None:
        if faults := compare_with_run(submission, Run.open(run_folder), panels):
            raise UsageError(f"The counts are not those of the run: {'; '.join(map(str, faults[:5]))}.")
        trust, evidence = "reproducible", "The counts were recomputed from the run's records and are equal."
    if rerun is not None:
        agreements = compare_with_rerun(submission, pack(Run.open(rerun)))
        if not agreements:
            raise UsageError("The rerun has no question in common with the submission.")
        for found in agreements:
            value, low, high = (
                100 * part for part in (found.difference.value, found.difference.low, found.difference.high)
            )
            ends = f"{value:+.1f} points [{low:+.1f}, {high:+.1f}]"
            click.echo(f"{found.benchmark}: submitted minus rerun {ends} on {found.questions} questions")
        if not all(found.agrees for found in agreements):
            raise UsageError("The rerun does not agree with the submission, so it was not accepted as verified.")
        questions = sum(found.questions for found in agreements)
        trust, evidence = "verified", f"A rerun of {questions} questions agrees within its interval."
    path = accept(submission, into, trust=trust, evidence=evidence)
    if changelog is not None:
        solver = submission.solver.model if submission.solver else "an audit of judges"
        with open(changelog, "a", encoding="utf-8") as out:
            out.write(f"- {solver}, {trust} ({path.stem})\n")
    click.echo(f"Accepted as {trust}: {path}")
