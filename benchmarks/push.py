"""Uploading a built data set to the Hub, without the configurations whose rights forbid it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from multilingual_math_audit.benchmarks.build import read_tables, write_dataset
from multilingual_math_audit.errors import AuditError, UsageError


class UploadError(AuditError):
    """The Hub refused an upload or did not answer."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What an upload came to: the repository's address, what it holds, and what stayed here."""

    url: str
    configurations: tuple[str, ...]
    left_out: tuple[str, ...]


def push_dataset(folder: Path, repository: str, *, private: bool = False, allow: Collection[str] = ()) -> Pushed:
    """Upload a built data set; configurations whose rights forbid it stay out unless `allow` names them.

    Raises UsageError for a folder that is no built data set, a wrong name, or when nothing may be uploaded, and
    UploadError when the Hub refuses or does not answer.
    """
    if repository.count("/") != 1:
        raise UsageError(f"{repository!r} is not the name of a repository.", "Write it as ORGANISATION/NAME.")
    tables = read_tables(folder)
    if unknown := sorted(set(allow) - set(tables)):
        raise UsageError(f"{folder} has no configuration {unknown[0]!r} to allow.", f"It has {', '.join(tables)}.")
    left_out = tuple(name for name, table in tables.items() if not table.publishable and name not in allow)
    chosen = {name: table for name, table in tables.items() if name not in left_out}
    if not chosen:
        raise UsageError(
            f"Nothing of {folder} may be uploaded: the rights of {', '.join(left_out)} forbid it.",
            "Their specs rebuild them from the owners' files on any machine. If you hold the rights, say --allow NAME.",
        )
    with tempfile.TemporaryDirectory() as copy:
        write_dataset(Path(copy), chosen, body=_note(left_out))
        _copy_specs(folder, Path(copy), left_out)
        url = _upload(Path(copy), repository, private=private)
    return Pushed(url, tuple(chosen), left_out)


def _note(left_out: Collection[str]) -> str:
    if not left_out:
        return ""
    names = ", ".join(f"`{name}`" for name in left_out)
    return (
        f"\n## Not in this repository\n\nThe rights of {names} do not allow publishing the texts here. "
        "Their specs are in `specs/`; `math-audit build` fetches the owners' files and makes these configurations "
        "on your machine.\n"
    )


def _copy_specs(source: Path, target: Path, names: Collection[str]) -> None:
    for name in names:
        if (source / "specs" / f"{name}.yaml").is_file():
            (target / "specs" / f"{name}.yaml").write_bytes((source / "specs" / f"{name}.yaml").read_bytes())


def _upload(folder: Path, repository: str, *, private: bool) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    try:
        hub.create_repo(repository, repo_type="dataset", private=private, exist_ok=True)
        if private and not hub.repo_info(repository, repo_type="dataset").private:
            raise UploadError(
                f"{repository} is there already and is public.", "Make it private on the Hub, or leave out --private."
            )
        hub.upload_folder(
            repo_id=repository, repo_type="dataset", folder_path=folder, commit_message="Build of the data set",
            delete_patterns=["*/test.parquet", "specs/*.yaml"],
        )  # fmt: skip
    except HfHubHTTPError as error:
        raise _explain(error.response.status_code if error.response is not None else 0, repository) from None
    except UploadError:
        raise
    except Exception as error:
        # Without an answer the client raises whatever its HTTP library does.
        raise UploadError(
            f"The Hub at {hub.endpoint} gave no answer ({type(error).__name__}: {str(error)[:200]}).",
            "Check the network and HF_ENDPOINT, and repeat the command.",
        ) from None
    return f"{hub.endpoint}/datasets/{repository}"


def _explain(status: int, repository: str) -> UploadError:
    if status in (401, 403):
        return UploadError(
            f"The Hub does not let you write to {repository} (HTTP {status}).",
            "Log in with `hf auth login` or set HF_TOKEN to a token that may write there.",
        )
    return UploadError(f"The Hub refused the upload to {repository} (HTTP {status}).", "Repeat the command later.")
