"""Run every measurement the docs quote, one after the other, and print what each prints.

python bench/run_all.py            # all of them
python bench/run_all.py grading    # those whose name holds a word
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VLLM = HERE.parent / ".venv-vllm" / "bin" / "python"
# Long or open-ended ones are run by name: fuzz_answers (as long as one likes), answer_pairs (20,000 pairs by default).
BY_NAME = {"run_all", "fuzz_answers", "answer_pairs"}
NEED_VLLM = {"engine_overhead"}


def main(words: list[str]) -> int:
    """Run the scripts chosen by the words; gives how many failed."""
    failed = 0
    for script in sorted(HERE.glob("*.py")):
        chosen = any(word in script.stem for word in words) if words else script.stem not in BY_NAME
        if not chosen:
            continue
        python = str(VLLM) if script.stem in NEED_VLLM else sys.executable
        print(f"\n=== bench/{script.name}", flush=True)
        failed += subprocess.run([python, str(script)], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
