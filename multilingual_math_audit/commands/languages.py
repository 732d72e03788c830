"""`math-audit languages`: the language of chains and judgments."""

from __future__ import annotations

import os
import time

import click

from multilingual_math_audit.cli import examples

SHOWN = ("of", "by", "benchmark", "n", "none", "target_80", "mixed_80", "english_80", "agree")


@click.command(
    epilog=examples(
        "math-audit languages runs/first",
        "math-audit languages runs/first --detector lingua --all",
        "math-audit languages runs/first --detector glotlid --model glotlid/model_v3.bin",
    )
)
@click.argument("run_folder", metavar="RUN", type=click.Path())
@click.option(
    "--detector",
    type=click.Choice(["auto", "glotlid", "lingua"]),
    default="auto",
    help="GlotLID, or lingua that needs no download; auto takes the first that can be had and says which.",
)
@click.option("--model", type=click.Path(), help="GlotLID's file [default: downloaded from the Hub, pinned].")
@click.option("--all", "every", is_flag=True, help="Every chain, not only those of correct solutions.")
@click.option("--no-mask", is_flag=True, help="Leave out MaskLID, the second layer.")
@click.option("--judgments", type=click.IntRange(min=0), default=300, help="Per judge and benchmark [default: 300].")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the sample of judgments [default: 0].")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes [default: one per core].")
def command(
    run_folder: str,
    detector: str,
    model: str | None,
    every: bool,
    no_mask: bool,
    judgments: int,
    seed: int,
    jobs: int | None,
) -> None:
    """Identify the language of a run's chains and of a sample of its judgments; what is done is not done again.

    Mathematics is taken out first; each sentence of at least 20 letters gets one label. The records go to
    languages.jsonl in the run, into its report, and their counts into its submission.json.
    """
    from itertools import chain
    from typing import Any, cast

    from multilingual_math_audit.evaluate.chains import chain_texts, judgment_texts, read_identified
    from multilingual_math_audit.evaluate.identify import open_detector
    from multilingual_math_audit.evaluate.language import ChainLanguage, Clock, identify_texts
    from multilingual_math_audit.evaluate.report.languages import share_table
    from multilingual_math_audit.evaluate.report.terminal import print_table
    from multilingual_math_audit.store import Run
    from multilingual_math_audit.submissions.pack import refresh_submission

    run = Run.open(run_folder)
    if detector != "lingua" and model is None:
        click.echo("Loading GlotLID, from the Hub where it is not kept here yet ...", err=True)
    opened, warning = open_detector(cast(Any, detector), model=model)
    if warning:
        click.echo(f"Warning: {warning}", err=True)
    done = {record.id for record in run.read(ChainLanguage) if record.detector == opened.name}
    texts = chain(
        chain_texts(run, every=every, done=done), judgment_texts(run, per_cell=judgments, seed=seed, done=done)
    )
    clock, start, count = Clock(), time.perf_counter(), 0
    with run.writer(ChainLanguage) as writer:
        for record in identify_texts(texts, opened, mask=not no_mask, jobs=jobs or os.cpu_count() or 1, clock=clock):
            writer.append(record)
            count += 1
    refresh_submission(run.folder)
    print_table(share_table(read_identified(run)), columns=SHOWN)
    click.echo(
        f"{count} texts by {opened.name} in {time.perf_counter() - start:.1f} s: stripping {clock.stripping:.1f} s, "
        f"labels {clock.labelling:.1f} s, MaskLID {clock.masking:.1f} s over all processes."
    )
