"""Between a run and the Hub: what would be sent, the pull request that sends it, and model-card entries."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from multilingual_math_audit.benchmarks.catalogue import find_spec
from multilingual_math_audit.errors import AuditError, UsageError
from multilingual_math_audit.evaluate.language import ChainLanguage
from multilingual_math_audit.evaluate.metrics import pass_at_k
from multilingual_math_audit.records import Grade, Judgment, Problem, Solution
from multilingual_math_audit.store import Run, write_atomically
from multilingual_math_audit.submissions.audits import PANEL, open_panels
from multilingual_math_audit.submissions.submission import BenchmarkCounts, Submission

RepoType = Literal["dataset", "model", "space"]
MEMORY = "submitted.json"


class HubRefused(AuditError):
    """The Hub refused a request or did not answer."""


class AlreadySubmitted(AuditError):
    """The same content was sent to this repository before."""


@dataclass(frozen=True, slots=True)
class Sending:
    """Files for a repository and the words of their pull request."""

    digest: str
    title: str
    description: str
    files: Mapping[str, bytes]

    def listing(self) -> list[str]:
        """The files with their sizes, as they are shown before anything is sent."""
        return [f"{path} ({len(data):,} bytes)" for path, data in self.files.items()]


def plan_submission(submission: Submission, run: Run | None = None, panels: Sequence[str | Path] = ()) -> Sending:
    """What sending a submission means: one JSON file, and with `run` the run's records and panels beside it.

    Records hold solution texts. Questions whose texts may not be published are sent without their text.
    """
    files = {f"incoming/{submission.digest}.json": submission.to_json()}
    if run is not None:
        beside = f"runs/{submission.digest}"
        files |= {f"{beside}/{name}": data for name, data in _run_files(run)}
        for number, panel in enumerate(open_panels(run, panels), 1):
            place = f"{beside}/{PANEL}" if number == 1 else f"{beside}/{PANEL}-{number}"
            files |= {f"{place}/{name}": data for name, data in _run_files(panel)}
    solver = submission.solver.model if submission.solver else "judges only"
    judges = ", ".join(submission.judges) or "none"
    description = (
        f"Solver: {solver}. Judges: {judges}. Benchmarks: {', '.join(submission.benchmarks) or 'none'}.\n\n"
        f"Digest of the content: {submission.digest}. Check it with `math-audit validate`."
    )
    return Sending(submission.digest, f"Submission {submission.digest}: {solver}", description, files)


def plan_model_card(submission: Submission, dataset: str) -> Sending:
    """The entries for `.eval_results/` of the solver's model repository: percent, one per benchmark and metric.

    Pass@1 of every benchmark; CoT-Pass@1 where exactly one judge has judged every correct solution, named in the notes.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    if submission.solver is None:
        raise UsageError("This submission has no solver, so there is no model card to write to.")
    entries = [
        EvalResultEntry(dataset_id=dataset, task_id=task, value=round(100 * value, 2), date=submission.day, notes=notes)
        for name, counts in submission.benchmarks.items()
        for task, value, notes in _card_numbers(submission, name, counts)
    ]
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    path = f".eval_results/{dataset.replace('/', '--')}.yaml"
    return Sending(
        submission.digest,
        f"Results on {dataset}",
        f"Percent, from per-question counts with the digest {submission.digest}.",
        {path: text.encode()},
    )


def _card_numbers(submission: Submission, name: str, counts: BenchmarkCounts) -> Iterator[tuple[str, float, str]]:
    if submission.solver is None:
        return
    setup = f"{submission.solver.mode}, n={counts.samples}, budget {submission.solver.settings.budget}"
    if not sum(counts.ungraded or ()):
        yield f"{name}__pass_at_1", float(pass_at_k(counts.n, counts.correct, 1).mean()), setup
    if len(counts.judges) == 1:
        label, judged = next(iter(counts.judges.items()))
        if judged.approved.majority is not None and not sum(judged.pending):
            value = float(pass_at_k(counts.n, judged.approved.majority, 1).mean())
            yield (
                f"{name}__cot_pass_at_1",
                value,
                f"{setup}; judge {label}, majority of {submission.judges[label].judgments}",
            )


def _run_files(run: Run) -> Iterator[tuple[str, bytes]]:
    yield "manifest.json", (run.folder / "manifest.json").read_bytes()
    problems = (
        problem if find_spec(problem.benchmark).publish else dataclasses.replace(problem, question="")
        for problem in run.read(Problem)
    )
    yield Problem.file, b"".join(problem.to_json() + b"\n" for problem in problems)
    for kind in (Solution, Grade, Judgment, ChainLanguage):
        if run.has(kind):
            yield kind.file, run.path(kind).read_bytes()
    if (run.folder / "verifier.json").is_file():
        yield "verifier.json", (run.folder / "verifier.json").read_bytes()


def send(sending: Sending, repository: str, *, repo_type: RepoType = "dataset", memory: Path | None = None) -> str:
    """Open the pull request and give its address; `memory` is a folder where it is remembered.

    Raises AlreadySubmitted when the same content was sent to this repository before or waits there in an open pull
    request, and HubRefused when the Hub refuses.
    """
    if repository.count("/") != 1:
        raise UsageError(f"{repository!r} is not the name of a repository.", "Write it as ORGANISATION/NAME.")
    key = f"{repo_type}:{repository}:{','.join(sending.files)}:{sending.digest}"
    known = _remembered(memory)
    if key in known:
        raise AlreadySubmitted(f"This was sent to {repository} before: {known[key]}.", "Nothing was sent again.")
    from huggingface_hub import CommitOperationAdd

    hub = _api()
    with _hub_errors(repository):
        for discussion in hub.get_repo_discussions(repository, repo_type=repo_type, discussion_type="pull_request"):
            if discussion.status in ("open", "draft") and discussion.title == sending.title:
                if repo_type == "model" and discussion.author != hub.whoami()["name"]:
                    continue
                raise AlreadySubmitted(
                    f"A pull request with this content is open: {discussion.url}.", "Nothing was sent again."
                )
        commit = hub.create_commit(
            repository,
            [CommitOperationAdd(path, data) for path, data in sending.files.items()],
            commit_message=sending.title,
            commit_description=sending.description,
            repo_type=repo_type,
            create_pr=True,
        )
    url = str(commit.pr_url)
    if memory is not None:
        write_atomically(memory / MEMORY, orjson.dumps(known | {key: url}, option=orjson.OPT_INDENT_2) + b"\n")
    return url


def upload_space(folder: Path, repository: str, *, private: bool = False) -> str:
    """Upload a Space folder, making the Space if it is not there; gives the address of the commit."""
    hub = _api()
    with _hub_errors(repository):
        hub.create_repo(repository, repo_type="space", space_sdk="gradio", private=private, exist_ok=True)
        commit = hub.upload_folder(
            repo_id=repository,
            repo_type="space",
            folder_path=folder,
            commit_message="The leaderboard",
            delete_patterns="*",
        )
    return str(commit.commit_url)


def _api() -> Any:
    from huggingface_hub import HfApi

    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)


def _remembered(memory: Path | None) -> dict[str, str]:
    if memory is None or not (memory / MEMORY).is_file():
        return {}
    try:
        found = orjson.loads((memory / MEMORY).read_bytes())
    except orjson.JSONDecodeError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


@contextmanager
def _hub_errors(repository: str) -> Iterator[None]:
    """Say what the Hub answered in one paragraph, without headers, which hold the token."""
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    try:
        yield
    except AuditError:
        raise
    except LocalTokenNotFoundError:
        raise HubRefused("There is no token for the Hub.", "Set HF_TOKEN, or log in with: hf auth login") from None
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        advice = {
            401: "Check the token and the repository's name.",
            403: "The token may not write there.",
            404: "Check the repository's name.",
        }.get(status, "Try again later.")
        raise HubRefused(f"The Hub answered {status} for {repository}.", advice) from None
    except Exception as error:
        raise HubRefused(
            f"The Hub could not be reached for {repository}: {type(error).__name__}.", "Try again."
        ) from None
