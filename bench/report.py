"""How long the report of a synthetic study takes (10 solvers x 5 benchmarks x 64 samples x 2 judges), and the parts.

Run: python bench/report.py [--out DIR]
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

from multilingual_math_audit.evaluate.report.build import SECTIONS, write_report
from multilingual_math_audit.evaluate.report.entries import parse_groupings
from multilingual_math_audit.evaluate.report.material import gather_material

STUDY = Path(__file__).parent.parent / "tests" / "evaluate" / "report" / "conftest.py"


def load_study() -> ModuleType:
    """The module that makes the synthetic study of the tests."""
    spec = importlib.util.spec_from_file_location("synthetic_study", STUDY)
    if spec is None or spec.loader is None:
        sys.exit(f"{STUDY} is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Write the report and print the seconds of tables and of everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    options = parser.parse_args()
    study = load_study()
    entries = study.synthetic_entries()
    material = gather_material(entries, groupings=parse_groupings(study.GROUPS))
    samples = sum(q.n for entry in entries for cell in entry.benchmarks.values() for q in cell)
    start, processor = time.perf_counter(), time.process_time()
    rows = sum(len(make(material).rows) for _, makers, _ in SECTIONS.values() for make in makers)
    tables = time.process_time() - processor
    paths = write_report(material, options.out or tempfile.mkdtemp())
    print(f"{samples:,} samples, {rows} rows, {len(paths)} files in {time.perf_counter() - start:.1f} s wall")
    print(f"processor: tables alone {tables:.1f} s, all {time.process_time() - processor:.1f} s; page {paths[0]}")


if __name__ == "__main__":
    main()
