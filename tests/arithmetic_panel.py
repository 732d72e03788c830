"""Correct chains of arithmetic in three languages, and three judges whose behaviour is known."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from multilingual_math_audit.evaluate.answers.grading import GRADER_VERSION
from multilingual_math_audit.records import Grade, Language, Problem, Solution, digest
from multilingual_math_audit.store import Run

QUESTIONS = {
    "en": "A shop has {a} crates of {b} jars. It sells {c} jars and receives {d} such crates. How many jars are left?",
    "tr": "Bir dükkânda {b} kavanozluk {a} kasa vardır. {c} kavanoz satılır, {d} kasa daha gelir. Kaç kavanoz kalır?",
    "pt": "Uma loja tem {a} caixas de {b} frascos. Vende {c} frascos e recebe {d} caixas iguais. Quantos restam?",
}
CHAINS = {
    "en": (
        "We count the jars first: ${a} \\cdot {b} = {p}$. After the sale there are ${p} - {c} = {q}$ jars. "
        "The new crates bring ${d} \\cdot {b} = {r}$ jars. "
        "To check the stock we write ${q} - {r} = {s}$, so ${s} + {r} = {q}$. "
        "Twice the stock is ${q} + {q} = {t}$. Half of it again is ${t} - {q} = {q}$. "
        "Together there are ${q} + {r} = {k}$ jars. The answer is ${k}$.\n\n$$\\boxed{{{k}}}$$"
    ),
    "tr": (
        "Önce kavanozları sayalım: ${a} \\cdot {b} = {p}$. Satıştan sonra ${p} - {c} = {q}$ kavanoz kalır. "
        "Yeni kasalar ${d} \\cdot {b} = {r}$ kavanoz getirir. "
        "Denetlersek ${q} - {r} = {s}$, yani ${s} + {r} = {q}$ olur. "
        "İki katı ${q} + {q} = {t}$ eder. Yarısı yine ${t} - {q} = {q}$ olur. "
        "Toplam ${q} + {r} = {k}$ kavanoz eder. Cevap ${k}$ olur.\n\n$$\\boxed{{{k}}}$$"
    ),
    "pt": (
        "Primeiro contamos os frascos: ${a} \\cdot {b} = {p}$. Depois da venda há ${p} - {c} = {q}$ frascos. "
        "As caixas novas trazem ${d} \\cdot {b} = {r}$ frascos. "
        "Para verificar, ${q} - {r} = {s}$, logo ${s} + {r} = {q}$. "
        "O dobro é ${q} + {q} = {t}$. A metade é outra vez ${t} - {q} = {q}$. "
        "Ao todo há ${q} + {r} = {k}$ frascos. A resposta é ${k}$.\n\n$$\\boxed{{{k}}}$$"
    ),
}
EQUATION = re.compile(r"\$(\d+) (\\cdot|[-+]) (\d+) = (\d+)\$")


def numbers(item: int) -> dict[str, int]:
    """The numbers of an item; every intermediate one differs from those of the question."""
    a, b, c, d = 31 + item, 17 + item % 5, 59 + 3 * item, 12 + item % 4
    p, r = a * b, d * b
    q = p - c
    return {"a": a, "b": b, "c": c, "d": d, "p": p, "q": q, "r": r, "s": q - r, "t": 2 * q, "k": q + r}


def make_run(folder: Path, *, items: int = 8, samples: int = 1, wrong: int = 0) -> Run:
    """A graded run of correct chains, `samples` of each problem in each language, and `wrong` wrong ones."""
    run = Run.create(folder, {"solver": {"solver": "scripted"}, "samples": {}})
    languages: tuple[Language, ...] = ("en", "tr", "pt")
    for language in languages:
        for item in range(items):
            values = numbers(item)
            problem = Problem(
                f"jars_{language}/{item}", f"jars_{language}", f"jars/{item}", language,
                QUESTIONS[language].format(**values), str(values["k"]), "integer",
            )  # fmt: skip
            run.append([problem])
            for sample in range(samples + wrong):
                text = CHAINS[language].format(**values)
                if sample >= samples:
                    text = text.replace(f"= {values['k']}$", f"= {values['k'] + 10}$")
                    text = text.replace(f"boxed{{{values['k']}}}", f"boxed{{{values['k'] + 10}}}")
                name = digest(problem.id, sample)
                right = sample < samples
                run.append(
                    [
                        Solution(name, problem.id, "scripted", sample, text, completion_tokens=700 + sample),
                        Grade(name, GRADER_VERSION, right, "correct" if right else "wrong", None),
                    ]
                )
    return run


def always_yes(messages: list[dict[str, str]], seed: int) -> str:
    """A judge that approves whatever it sees."""
    return "No issue found.\n\\boxed{yes}"


def answer_checker(messages: list[dict[str, str]], seed: int) -> str:
    """A judge that knows the keys and looks at the last box alone."""
    prompt = messages[-1]["content"]
    keys = {
        str(numbers(item)["k"])
        for item in range(40)
        if f"{numbers(item)['a']} " in prompt and f"{numbers(item)['c']} " in prompt
    }
    box = re.findall(r"boxed\{(\d+)\}", prompt)[-1]
    return f"\\boxed{{{'yes' if box in keys else 'no'}}}"


def chain_checker(messages: list[dict[str, str]], seed: int) -> str:
    """A judge that recomputes every equation and compares the last one with the box."""
    prompt = messages[-1]["content"]
    results = []
    for left, operator, right, result in EQUATION.findall(prompt):
        x, y = Fraction(left), Fraction(right)
        value = x * y if operator == "\\cdot" else x + y if operator == "+" else x - y
        results.append((value == Fraction(result), result))
    box = re.findall(r"boxed\{(\d+)\}", prompt)[-1]
    sound = all(right for right, _ in results) and bool(results) and results[-1][1] == box
    return f"I recomputed every step.\n\\boxed{{{'yes' if sound else 'no'}}}"
