"""The two synthetic benchmarks against the reference generators, digit by digit."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from multilingual_math_audit.evaluate.verifier.groups import groups_from_arrays
from multilingual_math_audit.evaluate.verifier.synthetic import SynGroups, SynStream, syngroups, synstream


def load(shared: Path, name: str) -> ModuleType:
    """A generator of the reference material as a module."""
    sys.path.insert(0, str(shared / "bench"))
    try:
        spec = importlib.util.spec_from_file_location(name, shared / "bench" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize(("count", "seed"), [(12, 1), (5, 3001)])
def test_both_benchmarks_equal_the_reference_to_the_digit(shared: Path, count: int, seed: int) -> None:
    """Every array has the same bits as that of the reference generator for the same seed."""
    for name, mine in (("syngroups", syngroups(count, seed)), ("synstream", synstream(count, seed))):
        theirs = load(shared, name).generate(count, seed)
        assert mine.keys() == theirs.keys()
        for key, values in theirs.items():
            assert np.array_equal(values, mine[key]), (name, key)


def test_groups_hold_the_arrays_without_padding() -> None:
    """Tokens past an answer's length and answers that are not valid are gone; the rest is the arrays' own."""
    data = synstream(2, 7, SynStream(N=3, d=8))
    groups = groups_from_arrays(data)
    assert [len(group.lengths) for group in groups] == data["valid"].sum((1, 2)).tolist()
    valid = data["valid"][0]
    assert np.array_equal(groups[0].states.numpy(), data["x"][0][valid].reshape(-1, 8))
    assert groups[0].time.tolist() == data["t"][0][valid].tolist()
    terminal = syngroups(1, 7, SynGroups(N=4, d=8))
    group = groups_from_arrays(terminal)[0]
    assert group.lengths.tolist() == terminal["lens"][0].tolist()
    starts = np.cumsum(terminal["lens"][0]) - terminal["lens"][0]
    assert np.array_equal(group.states.numpy()[starts], terminal["x"][0][:, 0])
