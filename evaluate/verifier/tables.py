"""The verifier's tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from multilingual_math_audit.evaluate.verifier.trial import Selection, Stopping

BLOCKS = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float], width: int = 48) -> str:
    """A curve in one line of blocks, high values high.

    >>> spark([0.0, 0.5, 1.0], width=3)
    '▁▄█'
    """
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return ""
    parts = [float(np.mean(part)) for part in np.array_split(np.array(finite), min(width, len(finite)))]
    low, high = min(parts), max(parts)
    step = (high - low) or 1.0
    return "".join(BLOCKS[int((value - low) / step * 7)] for value in parts)


def show_training(result: dict[str, Any]) -> None:
    """What a scorer's training came to: rates tried, the one chosen, validation Brier of its seeds, and its losses."""
    console = Console()
    rates: dict[float, float] = {}
    for fit in result["fits"]:
        rates.setdefault(fit["rate"], fit["validation"]["brier"])
    tried = "  ".join(f"{rate:g}: {brier:.4f}" for rate, brier in rates.items())
    briers = [one["validation"]["brier"] for one in result["chosen"]]
    losses = next(fit["losses"] for fit in result["fits"] if fit["rate"] == result["rate"])
    console.print(f"[bold]{result['scorer']}[/bold]: {result['steps']} steps, {result['epochs']} epochs")
    console.print(f"  validation Brier by learning rate  {tried}")
    console.print(
        f"  chosen {result['rate']:g}: Brier {np.mean(briers):.4f} ± {np.std(briers):.4f} over {len(briers)} seeds"
    )
    console.print(f"  loss {losses[0]:.3f} {spark(losses)} {losses[-1]:.3f}", highlight=False)


def show_selection(trial: Selection) -> None:
    """One row per selector: scores per answer, best-of-N for each N, calibration of the picks, and the difference."""
    size = trial.sizes[-1]
    table = Table(title=f"Best of N over {len(trial.problems)} problems", title_justify="left")
    table.add_column("selector", no_wrap=True)
    shown = [n for n in trial.sizes if n in (1, 4, 16, 64) or n == size]
    names = ["AUROC", "Brier", "ECE", *[f"N={n}" for n in shown], f"ECE@{size}", f"Brier@{size}"]
    if trial.recalibration:
        names.append(f"Brier@{size} refit")
    for name in [*names, "minus self-consistency [95%]"]:
        table.add_column(name, justify="right")
    for line in trial.lines:
        picks = [result.calibration() for result in line.best[size]]
        cells = [number(line.answers[key]) for key in ("auroc", "brier", "ece")]
        cells += [number(line.accuracy(n)) for n in shown]
        cells += [number([one[key] for one in picks]) for key in ("ece", "brier")]
        if trial.recalibration:
            cells.append(number([one["brier"] for one in line.recalibrated]))
        versus = trial.versus[line.name]
        cells.append("-" if versus.degenerate else f"{versus.value:+.3f} [{versus.low:+.3f}, {versus.high:+.3f}]")
        table.add_row(line.name, *cells)
    skipped = sum(result.skipped for result in trial.lines[0].best[size])
    table.caption = f"One sample {trial.base:.3f}, any of all {trial.oracle:.3f}."
    if skipped:
        table.caption += f" {skipped} problems with fewer than {size} samples are not in N={size}."
    Console(width=max(Console().width, 190)).print(table)


def show_stopping(trial: Stopping) -> None:
    """One row per scorer: its area, and accuracy, latency and tokens at the threshold chosen on validation."""
    table = Table(title=f"Early stopping over {len(trial.states)} problems", title_justify="left")
    table.add_column("scorer", no_wrap=True)
    for name in ("AUROC", "Brier", "AUTC", "threshold", "accuracy", "latency", "tokens", "saved", "stopped"):
        table.add_column(name, justify="right")
    for line in trial.lines:
        cells = [f"{line.answers['auroc']:.3f}", f"{line.answers['brier']:.4f}", f"{line.area:.1f}"]
        if line.chosen is None:
            cells += ["not reached", *["-"] * 5]
        else:
            one = line.chosen
            cells += [f"{one.threshold:.2f}", f"{one.accuracy:.3f}", f"{one.latency:.0f}", f"{one.tokens:.0f}"]
            cells += [f"{one.saved:.1%}", f"{one.triggered:.1%}"]
        table.add_row(line.name, *cells)
    full = trial.full
    table.caption = (
        f"To the end: accuracy {full.accuracy:.3f}, latency {full.latency:.0f}, tokens {full.tokens:.0f}. AUTC: area "
        f"under accuracy against latency up to {trial.horizon} tokens. Seconds a problem: "
        + ", ".join(f"{name} {value:.3f}" for name, value in trial.seconds.items())
        + "."
    )
    Console(width=max(Console().width, 110)).print(table)


def number(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there are several; n/a where undefined.

    >>> number([0.5]), number([0.4, 0.6]), number([float("nan")])
    ('0.500', '0.500±0.100', 'n/a')
    """
    if not np.isfinite(values).all():
        return "n/a"
    return f"{np.mean(values):.3f}" + (f"±{np.std(values):.3f}" if len(values) > 1 else "")
