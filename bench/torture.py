"""Random SIGKILLs over solve, judge and merge, with four shards and two endpoints of which one keeps dying.

    python bench/torture.py                  # 100 kills, a few minutes
    python bench/torture.py --kills 12 --n 4

An undisturbed run and a tortured one ask the same deterministic servers through the real commands. At the end no sample
and no judgment may be lost or doubled, every record must be equal to the byte, and so must the scores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
SHARDS = 4
BENCHMARKS = ("starter_en", "starter_tr", "starter_pt")


def serve(port: int) -> None:
    """A server that answers by the messages and the seed alone, right six times in ten, until it is killed."""
    import chat_server

    from multilingual_math_audit.loaders.problems import load_benchmark

    keys = {problem.question.strip(): problem.answer for name in BENCHMARKS for problem in load_benchmark(name)}

    def answer(messages: list[dict[str, str]], seed: int) -> chat_server.Reply:
        asked = messages[-1]["content"]
        delay = 0.01 + 0.004 * (seed % 5)
        if "expert in mathematics" in asked or "{yes}" in asked:
            said = ("yes", "yes", "yes", "no", None)[seed % 5]
            return chat_server.Reply(f"Read. \\boxed{{{said}}}" if said else "I cannot say.", delay=delay)
        key = next((key for question, key in keys.items() if question in asked), "0")
        return chat_server.Reply(
            f"Step {seed}.\n\nSo \\boxed{{{key if seed % 10 < 6 else 10**6 + seed}}}.", delay=delay
        )

    server = chat_server.ChatServer(answer, model="tiny")
    server._port = port
    server.start()
    print("ready", flush=True)
    threading.Event().wait()


class Server:
    """A server process on a fixed port."""

    def __init__(self) -> None:
        import socket

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.kills = 0
        self.start()

    def start(self) -> None:
        """Start it and wait until it listens."""
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(self.port)], stdout=subprocess.PIPE, text=True, env=_environment()
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        """Kill it as a lost node would die."""
        self.process.kill()
        self.process.wait()
        self.kills += 1


class Torturer:
    """Runs commands and kills them at random moments after they have written something new."""

    def __init__(self, folder: Path, urls: list[str], *, n: int, seed: int) -> None:
        self.folder, self.n, self.dice = folder, n, random.Random(seed)
        self.servers = [word for url in urls for word in ("--endpoint", url)]
        self.kills: Counter[str] = Counter()

    def solve(self, out: Path, shard: str | None = None) -> list[str]:
        """The words of a solve command; the undisturbed one, which has no shard, may ask for more at once."""
        part = ["--shard", shard, "--concurrency", "4"] if shard else ["--concurrency", "32"]
        return [
            *_math_audit("solve"), "--solver", "tiny", "--engine", "server", *self.servers,
            "--benchmarks", ",".join(BENCHMARKS), "--limit", "24", "--n", str(self.n), "--out", str(out), *part,
        ]  # fmt: skip

    def judge(self, out: Path, concurrency: int = 4) -> list[str]:
        """The words of a judge command."""
        return [
            *_math_audit("judge"), str(out), "--judge", "tiny", "--engine", "server", *self.servers,
            "--concurrency", str(concurrency),
        ]  # fmt: skip

    def torture(self, stage: str, commands: list[list[str]], watched: list[Path], kills: int) -> None:
        """Run commands side by side, killing a random one again and again, then let all end."""
        processes = [_start(command) for command in commands]
        sizes = [_size(path) for path in watched]
        while self.kills[stage] < kills and any(process.poll() is None for process in processes):
            index = self.dice.randrange(len(processes))
            if processes[index].poll() is not None:
                if all(process.poll() is not None for process in processes):
                    break
                continue
            _wait_for(lambda i=index: _size(watched[i]) != sizes[i] or processes[i].poll() is not None)  # type: ignore[misc]
            time.sleep(self.dice.random() * 0.2)
            if processes[index].poll() is None:
                os.killpg(processes[index].pid, signal.SIGKILL)
                processes[index].wait()
                self.kills[stage] += 1
                sizes[index] = _size(watched[index])
                processes[index] = _start(commands[index])
        for process, command in zip(processes, commands, strict=True):
            _, said = process.communicate(timeout=600)
            if process.returncode:
                again = subprocess.run(command, capture_output=True, text=True, env=_environment())
                assert again.returncode == 0, (said, again.stderr)


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])}


def _math_audit(verb: str) -> list[str]:
    return [sys.executable, "-m", "multilingual_math_audit", verb]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment())


def _size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*.jsonl") if folder.exists() else ():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.004)


def _disturb(server: Server, stop: threading.Event) -> None:
    while not stop.wait(6.0):
        server.kill()
        stop.wait(2.0)
        server.start()


def _compare(calm: Path, joined: Path) -> dict[str, object]:
    from multilingual_math_audit.records import Judgment, Solution
    from multilingual_math_audit.store import Run

    result: dict[str, object] = {}
    for kind in (Solution, Judgment):
        wanted = sorted(record.to_json() for record in Run.open(calm).read(kind))
        lines = sorted((joined / kind.file).read_bytes().splitlines())
        name = kind.file.removesuffix(".jsonl")
        result[name] = len(wanted)
        result[f"{name}_lost"] = len(set(wanted) - set(lines))
        result[f"{name}_extra"] = len(set(lines) - set(wanted))
        result[f"{name}_duplicate"] = len(lines) - len(set(lines))
    result["scores_equal"] = (calm / "scores.jsonl").read_bytes() == (joined / "scores.jsonl").read_bytes()
    return result


def main(*, kills: int, n: int, seed: int) -> dict[str, object]:
    """Torture a run and compare it with an undisturbed one."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        servers = [Server(), Server()]
        try:
            torturer = Torturer(folder, [server.url for server in servers], n=n, seed=seed)
            calm, joined = folder / "calm", folder / "joined"
            _run(*torturer.solve(calm))
            _run(*_math_audit("grade"), str(calm))
            _run(*torturer.judge(calm, 32))
            _run(*_math_audit("score"), str(calm))
            print(f"undisturbed run done after {time.monotonic() - began:.0f} s", flush=True)
            stop = threading.Event()
            nuisance = threading.Thread(target=_disturb, args=(servers[1], stop))
            nuisance.start()
            parts = [folder / f"part-{k}" for k in range(1, SHARDS + 1)]
            orders = [torturer.solve(part, f"{k}/{SHARDS}") for k, part in enumerate(parts, 1)]
            torturer.torture("solve", orders, parts, kills * 4 // 10)
            print(f"solve: {torturer.kills['solve']} kills, {time.monotonic() - began:.0f} s", flush=True)
            for part in parts:
                _run(*_math_audit("grade"), str(part))
            torturer.torture("judge", [torturer.judge(part) for part in parts], parts, kills * 4 // 10)
            print(f"judge: {torturer.kills['judge']} kills, {time.monotonic() - began:.0f} s", flush=True)
            stop.set()
            nuisance.join()
            merging = [*_math_audit("merge"), *map(str, parts), "-o", str(joined)]
            wanted = kills - torturer.kills.total()
            while torturer.kills["merge"] < wanted:
                _run("rm", "-rf", str(joined))
                torturer.torture("merge", [merging], [joined], wanted)
            _run(*_math_audit("score"), str(joined))
            _run(*_math_audit("verify"), str(joined))
            outcome = _compare(calm, joined)
        finally:
            for server in servers:
                server.kill()
    return {
        "kills": dict(torturer.kills),
        "kills_total": torturer.kills.total(),
        "server_kills": servers[1].kills - 1,
        **outcome,
        "seconds": round(time.monotonic() - began),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--n", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    outcome = main(kills=options.kills, n=options.n, seed=options.seed)
    print(json.dumps(outcome, indent=2))
    bad = [name for name, value in outcome.items() if name.endswith(("_lost", "_extra", "_duplicate")) and value]
    sys.exit(1 if bad or not outcome["scores_equal"] or outcome["kills_total"] != options.kills else 0)
