"""`math-audit submit`: send a run to a leaderboard, or its results to a model card."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UsageError
from multilingual_math_audit.store import Run, storage_errors, write_atomically


@click.command(
    epilog=examples(
        "math-audit submit runs/first --to ORG/REPO --submitter NAME --dry-run",
        "math-audit submit runs/first --to ORG/REPO --submitter NAME --family Qwen3.5 --parameters 4",
        "math-audit submit runs/first --submitter NAME --family Qwen3.5 --parameters 4 --save first.json",
        "math-audit submit panels/starter --to ORG/REPO --submitter NAME",
        "math-audit submit runs/first --model-card ORG/MODEL --dataset ORG/NAME --dry-run",
    )
)
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option("--to", "repository", metavar="ORG/REPO", help="Data set repository of the leaderboard.")
@click.option("--submitter", default="not given", help="Your name as it should stand on the board.")
@click.option("--contact", help="Optional, shown as it is.")
@click.option("--family", help="The solver's family, for filtering.")
@click.option("--parameters", type=float, help="The solver's size in billions of parameters.")
@click.option("--released", metavar="YYYY-MM-DD", help="The day the solver was released.")
@click.option("--note", help="A sentence about the run.")
@click.option("--panel", "panels", multiple=True, type=click.Path(), help="A panel of an audit [default: RUN/panel].")
@click.option("--with-run", is_flag=True, help="Send the run's records too; they hold the solutions' texts.")
@click.option("--raw-run", metavar="ORG/REPO@REVISION", help="Where the run's records are public already.")
@click.option("--model-card", metavar="ORG/MODEL", help="Write .eval_results of this model instead.")
@click.option("--dataset", metavar="ORG/NAME", help="With --model-card: the benchmark's data set on the Hub.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the submission to this file and send nothing.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and send nothing.")
def command(
    run_folder: str,
    repository: str | None,
    panels: tuple[str, ...],
    with_run: bool,
    raw_run: str | None,
    model_card: str | None,
    dataset: str | None,
    save: Path | None,
    dry_run: bool,
    **about: object,
) -> None:
    """Check RUN's counts, show what will be sent, and open a pull request with it. The token comes from HF_TOKEN.

    What math-audit audit counted in RUN/panel and math-audit verifier in RUN goes along. RUN may be a panel: then its
    audits alone are submitted. Without --with-run no text of any solution leaves this machine.
    """
    from multilingual_math_audit.submissions.hub import plan_model_card, plan_submission, send
    from multilingual_math_audit.submissions.pack import About, pack
    from multilingual_math_audit.submissions.submission import RawRun
    from multilingual_math_audit.submissions.validate import check

    if sum(target is not None for target in (repository, model_card, save)) != 1:
        raise UsageError("Say where to: give one of --to ORG/REPO, --model-card ORG/MODEL and --save FILE.")
    if model_card is not None and dataset is None:
        raise UsageError("--model-card needs --dataset ORG/NAME, the benchmark's data set on the Hub.")
    run = Run.open(run_folder)
    place = None
    if raw_run is not None:
        name, _, revision = raw_run.partition("@")
        place = RawRun(repository=name, revision=revision)
    submission = pack(run, About(raw_run=place, **about), panels=panels)  # type: ignore[arg-type]
    checked = check(submission.to_json())
    if checked.submission is None:
        faults = "; ".join(str(fault) for fault in checked.faults[:5])
        raise UsageError(f"The run at {run.folder} cannot be submitted: {faults}.")
    if save is not None:
        if not dry_run:
            with storage_errors(save):
                save.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(save, submission.to_json())
        click.echo(f"{'Would write' if dry_run else 'Written'}: {save} ({len(submission.to_json()):,} bytes)")
        return
    if model_card is not None and dataset is not None:
        sending, target, kind = plan_model_card(submission, dataset), model_card, "model"
    else:
        sending, target, kind = (
            plan_submission(submission, run if with_run else None, panels),
            str(repository),
            "dataset",
        )
    click.echo(f"To {target}, as a pull request: {sending.title}")
    for line in sending.listing():
        click.echo(f"  {line}")
    if kind == "model":
        click.echo(next(iter(sending.files.values())).decode())
    if dry_run:
        click.echo("Dry run: nothing was sent.")
        return
    url = send(sending, target, repo_type="model" if kind == "model" else "dataset", memory=run.folder)
    click.echo(f"Pull request: {url}")
