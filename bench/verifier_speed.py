"""How much faster the verifier is than its equations written out: ratios, side by side in one run.

    python bench/verifier_speed.py readout      # 64 and 256 sequences x 10 tokens: attention part and whole block
    python bench/verifier_speed.py streaming    # 64 sequences x 20 answers in time: online against recomputing
    python bench/verifier_speed.py training     # a paper-sized terminal training: 224 steps of 64 sequences
    python bench/verifier_speed.py readout --device cuda

States are 1536 wide, with 12 heads. Times are the least CPU time (on a GPU: wall time) over repetitions.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from multilingual_math_audit.evaluate.verifier.attention import naive_attention, permitted
from multilingual_math_audit.evaluate.verifier.groups import Batch, Group, collate
from multilingual_math_audit.evaluate.verifier.model import MultiSequenceVerifier, VerifierConfig
from multilingual_math_audit.evaluate.verifier.streaming import NewAnswer, StreamingVerifier
from multilingual_math_audit.evaluate.verifier.training import Regime, train

WIDTH, HEADS, TOKENS = 1536, 12, 10


def terminal_group(size: int, seed: int = 0) -> Group:
    """One answer of about ten tokens per sequence, in some ten classes."""
    random = np.random.default_rng(seed)
    lengths = torch.from_numpy(random.integers(TOKENS - 2, TOKENS + 3, size))
    names = random.integers(0, 10, size)
    return Group(
        states=torch.from_numpy(random.normal(size=(int(lengths.sum()), WIDTH)).astype(np.float32)),
        lengths=lengths,
        sequence=torch.arange(size),
        time=torch.full((size,), 1000),
        equal=torch.from_numpy(names[:, None] == names[None]),
        size=size,
        correct=torch.from_numpy(names == 0),
    )


def seconds(work: Callable[[], object], device: str, repeat: int = 5) -> float:
    """The least time of one call after a warm-up."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    work()
    best = float("inf")
    for _ in range(repeat):
        start = clock()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
        best = min(best, clock() - start)
    return best


@torch.inference_mode()
def readout(device: str) -> None:
    """Last-token readout against four naive masked attentions over all tokens."""
    for size in (64, 256):
        model = MultiSequenceVerifier(VerifierConfig(WIDTH, HEADS, size, streaming=True)).to(device).eval()
        batch = collate([terminal_group(size)], streaming=True).to(device)
        every = torch.arange(len(batch.states), device=device)
        x = batch.states + model.slots[batch.slot][batch.answer]
        z = model.norm(x)
        key, value = model.split(model.key(z)), model.split(model.value(z))
        query = model.split(model.query(z))
        all_allowed = permitted(batch, every, model.config.masks, streaming=True)
        last_query = query[:, batch.last].contiguous()

        def attention(key=key, value=value, query=last_query, model=model, batch=batch) -> torch.Tensor:  # type: ignore[no-untyped-def]
            allowed = permitted(batch, batch.last, model.config.masks, streaming=True)
            attended: torch.Tensor = model.attend(query, key, value, allowed)
            return attended

        def naive(key=key, value=value, query=query, allowed=all_allowed, model=model) -> torch.Tensor:  # type: ignore[no-untyped-def]
            return naive_attention(query, key, value, allowed, model.mixture_weights)

        fast, slow = seconds(attention, device), seconds(naive, device, repeat=3)
        print(f"N={size} attention: {fast * 1e3:.1f} ms, naive {slow * 1e3:.1f} ms, {slow / fast:.1f} times faster")
        whole = seconds(lambda model=model, batch=batch: model(batch), device)  # type: ignore[misc]
        slow = seconds(lambda model=model, batch=batch: naive_block(model, batch), device, repeat=3)  # type: ignore[misc]
        print(f"N={size} whole block: {whole * 1e3:.1f} ms, naive {slow * 1e3:.1f} ms, {slow / whole:.1f} times faster")


def naive_block(model: MultiSequenceVerifier, batch: Batch) -> torch.Tensor:
    """The whole block with all tokens as queries and one masked attention after another."""
    x = batch.states + model.slots[batch.slot][batch.answer]
    z = model.norm(x)
    every = torch.arange(len(x), device=x.device)
    allowed = permitted(batch, every, model.config.masks, streaming=True)
    parts = [model.split(layer(z)) for layer in (model.query, model.key, model.value)]
    attended = naive_attention(parts[0], parts[1], parts[2], allowed, model.mixture_weights)
    return model.score(model.finish(x, attended)[batch.last], batch.agreement)


@torch.inference_mode()
def streaming(device: str) -> None:
    """64 sequences x 20 answers: online scoring against projecting all earlier tokens anew at every answer."""
    size, answers = 64, 20
    random = np.random.default_rng(0)
    model = MultiSequenceVerifier(VerifierConfig(WIDTH, HEADS, size, streaming=True)).to(device).eval()
    total = size * answers
    time_of = np.sort(random.integers(0, 500, (size, answers)) * 8, axis=1).ravel()
    order = np.argsort(time_of, kind="stable")
    names = random.integers(0, 12, total)
    states = [torch.from_numpy(random.normal(size=(TOKENS, WIDTH)).astype(np.float32)) for _ in range(total)]
    online = StreamingVerifier(model, size)
    clock = time.process_time if device == "cpu" else time.perf_counter
    spent: list[float] = []
    seen = np.empty(0, dtype=np.int64)
    start = clock()
    for moment in np.unique(time_of):
        here = order[time_of[order] == moment]
        seen = np.append(seen, here)
        arrivals = [NewAnswer(int(a // answers), states[a], names[seen] == names[a]) for a in here]
        before = clock()
        online.append(int(moment), arrivals)
        spent += [(clock() - before) / len(here)] * len(here)
    whole = clock() - start
    memory = torch.cat([states[a] for a in seen]).to(device)
    costs = []
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        n = int(share * total) * TOKENS
        costs.append(seconds(lambda n=n: recompute(model, memory[:n]), device, repeat=2))  # type: ignore[misc]
    again = float(np.mean(costs)) * total
    print(
        f"streaming: {len(spent)} answers at {len(np.unique(time_of))} times in {whole:.1f} s, median "
        f"{statistics.median(spent) * 1e3:.1f} ms, last tenth {np.mean(spent[-total // 10 :]) * 1e3:.1f} ms an answer; "
        f"recomputing keys and values at every answer {again:.0f} s (from {len(costs)} lengths), "
        f"{again / whole:.0f} times slower"
    )


def recompute(model: MultiSequenceVerifier, x: torch.Tensor) -> torch.Tensor:
    """One answer scored with the keys and values of all tokens so far projected anew."""
    z = model.norm(x)
    query = model.split(model.query(z[-1:]))
    allowed = torch.ones(4, 1, len(x), dtype=torch.bool, device=x.device)
    attended = model.attend(query, model.split(model.key(z)), model.split(model.value(z)), allowed)
    return model.finish(x[-1:], attended)


def training(device: str) -> None:
    """224 problems x 64 sequences, one epoch: time and peak memory."""
    problems = []
    for index in range(224):
        problem = terminal_group(64, seed=index)
        vars(problem)["states"] = problem.states.bfloat16()
        problems.append(problem)
    model = MultiSequenceVerifier(VerifierConfig(WIDTH, HEADS)).to(device)
    start = time.perf_counter()
    losses = train(model, problems, Regime())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"training: {len(losses)} steps, {time.perf_counter() - start:.0f} s with {torch.get_num_threads()} threads, "
        f"peak memory {peak:.2f} GiB, loss {np.mean(losses[:20]):.3f} to {np.mean(losses[-20:]):.3f}"
    )


def main() -> None:
    """Run the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables: dict[str, Callable[[str], None]] = {"training": training, "readout": readout, "streaming": streaming}
    parser.add_argument("tables", nargs="*", metavar="|".join(tables))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    if unknown := set(asked.tables) - set(tables):
        parser.error(f"there is no table {min(unknown)}")
    for name in asked.tables or tables:
        tables[name](asked.device)


if __name__ == "__main__":
    main()
