"""`math-audit push`: upload a built data set to the Hub."""

from __future__ import annotations

from pathlib import Path

import click

from multilingual_math_audit.cli import examples


@click.command(
    epilog=examples(
        "math-audit push dataset --repo ORG/NAME",
        "math-audit push dataset --repo ORG/NAME --private",
        "math-audit push dataset --repo ORG/NAME --private --allow pt_exams",
    )
)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--repo", "repository", required=True, metavar="ORG/NAME", help="Data set repository on the Hub.")
@click.option("--private", is_flag=True, help="Make it private; refused if it is there and public.")
@click.option("--allow", multiple=True, metavar="NAME", help="Upload this one although its rights forbid it.")
def command(out: Path, repository: str, private: bool, allow: tuple[str, ...]) -> None:
    """Upload the data set in OUT, made by `math-audit build`.

    Configurations whose rights forbid publishing (tubitak2026, pt_exams) stay here; their specs go along, and rebuild
    them from the owners' files on any machine.
    """
    from multilingual_math_audit.benchmarks.push import push_dataset

    pushed = push_dataset(out, repository, private=private, allow=allow)
    click.echo(f"Uploaded {', '.join(pushed.configurations)} to {pushed.url}")
    if pushed.left_out:
        click.echo(
            f"Not uploaded, because their rights forbid it: {', '.join(pushed.left_out)}. "
            "Their specs went along; --allow NAME uploads one all the same."
        )
