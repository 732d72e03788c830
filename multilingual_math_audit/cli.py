"""The command `math-audit`: one verb per file in `commands/`, loaded only when it is called."""

from __future__ import annotations

import importlib
import os
import sys

import click

from multilingual_math_audit.errors import AuditError

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "A real solver and judge on the CPU, in minutes."),
    "run": ("run", "Solve, grade, judge and score in one go."),
    "solve": ("solve", "Sample solutions of a solver."),
    "grade": ("grade", "Check the answers of a run's solutions."),
    "judge": ("judge", "Ask a judge about a run's correct solutions."),
    "score": ("score", "Pass@k and CoT-Pass@k of a run."),
    "show": ("show", "Everything about a run or one of its solutions."),
    "benchmarks": ("benchmarks", "The benchmarks, and whether their sources can be had."),
    "build": ("build", "Write the dataset repository people load."),
    "push": ("push", "Upload a built dataset to the Hub."),
    "check-grader": ("check_grader", "The answer grader against labelled cases."),
    "regrade": ("regrade", "What a new grader version changes in a run."),
    "inject": ("inject", "Draw a panel of correct solutions and corrupt it."),
    "audit": ("audit", "Does this judge read the chain?"),
    "verify": ("verify", "Check a run for completeness, digests and joins."),
    "merge": ("merge", "Join the shards of a run."),
    "compact": ("compact", "A run as Parquet, and back."),
    "import": ("import_", "Start from another harness's outputs."),
    "export": ("export", "A run in another harness's format."),
    "report": ("report", "Tables and figures from runs."),
    "study": ("study", "Plan and run a whole study."),
    "reproduce": ("reproduce", "The paper's numbers from the authors' counts."),
    "languages": ("languages", "The language of chains and judgments."),
    "verifier": ("verifier", "Best-of-N with the Multi-Sequence Verifier."),
    "validate": ("validate", "Check submission files."),
    "submit": ("submit", "Send a run to a leaderboard."),
    "accept": ("accept", "Take a submission in (maintainers)."),
    "verify-submission": ("verify_submission", "Recompute a submission from its raw run."),
    "push-space": ("push_space", "Upload the leaderboard app to a Space."),
    "leaderboard": ("leaderboard", "Browse the leaderboard."),
}


class LazyGroup(click.Group):
    """A click group whose verbs are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"multilingual_math_audit.commands.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in VERBS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, VERBS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"There is no command {name!r}.{hint} 'math-audit --help' lists them.")
        return super().resolve_command(ctx, args)


def examples(*lines: str) -> str:
    """The closing part of a verb's help: commands that work as they stand."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=examples(
        "math-audit run --solver MODEL --judge MODEL --benchmarks starter_en,starter_tr --n 4 --out runs/first",
        "math-audit audit runs/first --judge MODEL",
        "math-audit leaderboard",
    ),
)
@click.version_option(package_name="multilingual-math-audit", prog_name="math-audit")
def cli() -> None:
    """Does a judged reasoning metric really check the reasoning?

    Solve benchmarks with any model, judge the solutions with any other, score Pass@k and CoT-Pass@k, and find out
    with injected errors whether the judge reads the chain.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an AuditError becomes one paragraph on standard error and exit code 2."""
    try:
        sys.exit(cli.main(args=arguments, standalone_mode=False) or 0)
    except click.exceptions.Abort:
        click.echo("Stopped. Everything written so far is kept; the same command goes on.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except AuditError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except RuntimeError as error:
        # Before Python 3.13 `Path.resolve` says so of a link that leads to itself.
        if not str(error).startswith("Symlink loop"):
            raise
        click.echo(f"Error: {error}: the link leads to itself. Name another file or folder.", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
