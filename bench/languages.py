"""How long 20,000 chains of 20 kB take on this machine, per layer, and per chain beside reading the bytes.

Run: python bench/languages.py [--chains 400] [--detector lingua|glotlid] [--model FILE] [--jobs 2]
Prints the seconds for the chains given, and what 20,000 take at that rate.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from multilingual_math_audit.evaluate.identify import open_detector
from multilingual_math_audit.evaluate.language import Clock, Text, identify_texts

SENTENCES = {
    "en": "Let us now consider the case in which the {} number is odd, so that the sum of all {} terms is {}.",
    "tr": "Şimdi {} sayısının tek olduğu durumu ele alalım, böylece bütün {} terimlerin toplamı {} olur.",
    "pt": "Consideremos agora o caso em que o número {} é ímpar, de modo que a soma dos {} termos seja {}.",
}
MATHEMATICS = (
    r"\[ x_{%d}^2 + \frac{a_{%d}}{b} = \sqrt{%d} \]",
    r"so $x = %d$, $y \le %d$ and $\text{for all } n > %d$",
    r"\begin{align*} a &= %d \\ b &= %d + %d \end{align*}",
)
TARGET = 20_000


def make_chain(number: int, *, size: int = 20_000) -> str:
    """A chain of about `size` characters in two languages with mathematics, no two sentences alike."""
    draw = random.Random(number)
    parts: list[str] = []
    length = 0
    while length < size:
        language = "en" if draw.random() < 0.5 else ("tr", "pt")[number % 2]
        numbers = [draw.randrange(10_000) for _ in range(3)]
        words = [draw.choice(("first", "büyük", "último", "whole", "küçük", "maior")) + str(n) for n in numbers]
        parts.append(SENTENCES[language].format(*words))
        parts.append(draw.choice(MATHEMATICS) % tuple(numbers))
        length += len(parts[-1]) + len(parts[-2])
    return "\n".join(parts)


def main() -> None:
    """Time the layers and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=400)
    parser.add_argument("--detector", default="lingua", choices=["lingua", "glotlid"])
    parser.add_argument("--model")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    detector, _ = open_detector(options.detector, model=options.model)
    chains = [make_chain(number) for number in range(options.chains)]
    size = sum(map(len, chains)) / len(chains)

    def texts() -> Iterator[Text]:
        for number, chain in enumerate(chains):
            yield Text(str(number), chain, ("tr", "pt")[number % 2], "Find the whole number.")

    clock, start, processor = Clock(), time.perf_counter(), time.process_time()
    segments = sum(r.segments for r in identify_texts(texts(), detector, jobs=options.jobs, clock=clock))
    wall = time.perf_counter() - start
    layers = clock.stripping + clock.labelling + clock.masking
    print(f"{detector.name}: {options.chains} chains of {size / 1000:.1f} kB, {segments} segments, {wall:.1f} s wall")
    for name, seconds in (("stripping", clock.stripping), ("labels", clock.labelling), ("MaskLID", clock.masking)):
        print(f"  {name:9} {seconds:7.1f} s, {1000 * seconds / options.chains:6.1f} ms a chain, {seconds / layers:.0%}")
    scale = TARGET / options.chains
    print(f"  {TARGET:,} chains: {wall * scale / 60:.1f} min wall; {layers * scale / 60:.1f} min of processor")
    print(f"  parent process: {time.process_time() - processor:.1f} s")


if __name__ == "__main__":
    main()
