"""`math-audit push-space`: upload the leaderboard app to a Space."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from multilingual_math_audit.cli import examples
from multilingual_math_audit.errors import UsageError


@click.command(
    epilog=examples("math-audit push-space --folder space", "math-audit push-space --repo ORG/NAME --accepted accepted")
)
@click.option("--repo", "repository", metavar="ORG/NAME", help="The Space; made if it is not there.")
@click.option("--folder", type=click.Path(path_type=Path), help="Write the Space's folder here and upload nothing.")
@click.option("--accepted", type=click.Path(path_type=Path), help="Accepted submissions [default: the package's].")
@click.option("--private", is_flag=True, help="Make a new Space private.")
def command(repository: str | None, folder: Path | None, accepted: Path | None, private: bool) -> None:
    """Put the leaderboard on a Space: the app, pinned requirements, what it needs of this package, the submissions."""
    from multilingual_math_audit.leaderboard_app.app import accepted_folder
    from multilingual_math_audit.submissions.hub import upload_space
    from multilingual_math_audit.submissions.space import write_space

    if (repository is None) == (folder is None):
        raise UsageError("Give either --repo ORG/NAME to upload, or --folder DIR to write the folder only.")
    entries = accepted or accepted_folder()
    if folder is not None:
        files = write_space(folder, entries)
        click.echo(f"Wrote {len(files)} files to {folder}. Try it: pip install -r requirements.txt, then python app.py")
        return
    with tempfile.TemporaryDirectory() as made:
        files = write_space(Path(made), entries)
        url = upload_space(Path(made), str(repository), private=private)
    click.echo(f"Uploaded {len(files)} files: {url}")
