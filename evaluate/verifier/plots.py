"""The verifier's figures: best-of-N, Brier, reliability, early stopping, and what each head takes from each mask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from multilingual_math_audit.errors import MissingExtra
from multilingual_math_audit.evaluate.calibration import reliability
from multilingual_math_audit.evaluate.verifier.comparison import Line
from multilingual_math_audit.evaluate.verifier.experiment import Experiment
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier
from multilingual_math_audit.evaluate.verifier.trial import Selection, Stopping, latency_seconds
from multilingual_math_audit.store import storage_errors


@contextmanager
def _figure(folder: Path, name: str, made: list[Path], *, columns: int = 1) -> Iterator[Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("Plotting", "figures") from None
    figure = Figure(figsize=(5.2 * columns, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns)
    yield axes
    path = folder / name
    with storage_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    made.append(path)


def plot_selection(trial: Selection, experiment: Experiment, folder: Path) -> list[Path]:
    """Best-of-N curves, Brier bars, reliability of the picks, and mixture weights; gives the files written."""
    made: list[Path] = []
    with _figure(folder, "best_of_n.png", made) as axes:
        for line in trial.lines:
            means = [float(np.mean(line.accuracy(size))) for size in trial.sizes]
            spread = [float(np.std(line.accuracy(size))) for size in trial.sizes]
            axes.errorbar(trial.sizes, means, yerr=spread, marker="o", markersize=3, capsize=2, label=line.name)
        axes.set(xscale="log", xlabel="N", ylabel="accuracy of the pick", title="Best of N")
        axes.set_xticks(trial.sizes, [str(size) for size in trial.sizes])
        axes.legend(fontsize=7)
    scored = [line for line in trial.lines if np.isfinite(line.answers["brier"]).all()]
    with _figure(folder, "brier.png", made) as axes:
        values = [float(np.mean(line.answers["brier"])) for line in scored]
        spread = [float(np.std(line.answers["brier"])) for line in scored]
        axes.barh([line.name for line in scored], values, xerr=spread)
        axes.invert_yaxis()
        axes.set(xlabel="Brier score of an answer (lower is better)")
    with _figure(folder, "reliability.png", made, columns=2) as pair:
        _reliability(pair[0], trial, scored[0])
        _reliability(pair[1], trial, scored[-1])
    if weights := _mixtures(experiment):
        with _figure(folder, "mixture.png", made, columns=len(weights)) as axes:
            for place, (name, model) in zip(np.atleast_1d(axes), weights.items(), strict=True):
                _heads(place, name, model)
    return made


def _reliability(axes: Any, trial: Selection, line: Line) -> None:
    size = trial.sizes[-1]
    picks = [pick for result in line.best[size] for pick in result.picks]
    bars = reliability([pick.confidence for pick in picks], [pick.correct for pick in picks])
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
    axes.bar([bar.low for bar in bars], [bar.accuracy for bar in bars], width=1 / 15, align="edge", edgecolor="white")
    axes.plot([bar.confidence for bar in bars], [bar.accuracy for bar in bars], "o", color="black", markersize=3)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence of the pick", ylabel="share right")
    axes.set_title(f"{line.name}, N = {size}")


def _mixtures(experiment: Experiment) -> dict[str, MultiSequenceVerifier]:
    first = {name: models[0] for name, models in experiment.scorers.items()}
    return {
        name: model
        for name, model in first.items()
        if isinstance(model, MultiSequenceVerifier) and model.config.size > 1
    }


def _heads(axes: Any, name: str, model: MultiSequenceVerifier) -> None:
    weights = model.mixture_weights.detach().float().numpy()
    most = float(np.abs(weights).max())
    image = axes.imshow(weights, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    axes.set_xticks(range(weights.shape[1]), list(model.config.masks), rotation=30)
    axes.set(ylabel="head", title=f"{name}: weight of each mask")
    axes.figure.colorbar(image, ax=axes)


def plot_stopping(trial: Stopping, folder: Path) -> list[Path]:
    """Accuracy against latency, seconds and tokens, the chosen thresholds marked; gives the files written."""
    made: list[Path] = []
    with _figure(folder, "early_stopping.png", made, columns=3) as axes:
        for line in trial.lines:
            points = sorted(line.points, key=lambda point: point.latency)
            accuracy = [point.accuracy for point in points]
            seconds = latency_seconds(points, trial.seconds, trial.horizon)
            columns = ([p.latency for p in points], seconds, [p.tokens for p in points])
            for place, values in zip(axes, columns, strict=True):
                place.plot(values, accuracy, label=f"{line.name} ({line.area:.0f})")
            if line.chosen is not None:
                axes[0].plot(line.chosen.latency, line.chosen.accuracy, "k.", markersize=5)
        axes[2].axvline(trial.full.tokens, color="grey", linewidth=1, linestyle=":")
        for place, label in zip(axes, ("latency in tokens", "latency in seconds", "all tokens"), strict=True):
            place.set(xlabel=label, ylabel="accuracy")
        axes[0].legend(fontsize=7, title="area", title_fontsize=7)
    return made
