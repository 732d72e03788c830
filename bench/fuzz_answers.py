"""Coverage-guided fuzzing of the answer grader: no crash, no exception, no reply that takes long.

    pip install atheris
    python bench/fuzz_answers.py -max_total_time=600 -max_len=400 -len_control=0 -timeout=20 -rss_limit_mb=2000

Every argument goes to libFuzzer. Inputs are pieces of real notation chosen by the fuzzer and raw text; each is graded
against a key as a whole reply and inside a box. The guard that turns an unforeseen exception into a rejection is taken
away, so that one would end the run. The integrals and limits that go to SymPy's process are left out: they are
bounded there, and starting the process is not what is fuzzed.
"""

from __future__ import annotations

import sys
import time

import atheris

with atheris.instrument_imports(include=["multilingual_math_audit.evaluate"]):
    from multilingual_math_audit.evaluate.answers import equivalence, grading, numbers, scalars
    from multilingual_math_audit.evaluate.answers.boxes import all_boxes
    from multilingual_math_audit.evaluate.answers.comparison import Rules
    from multilingual_math_audit.evaluate.answers.glyphs import fold

_PIECES = (  # noqa: SIM905
    "\\frac { } ( ) [ ] \\boxed{ $ $$ 1 23 456 , . ; : \\sqrt ^ _ x y n ! | \\{ \\} \\text{ and ve e ou or "
    "% \\% \\cup \\cap \\setminus = < > \\le \\ge \\ne \\in \\begin{pmatrix} \\begin{cases} & \\\\ "
    "\\end{pmatrix} \\end{cases} \\sum_{k=1}^{ \\prod_{k=1}^{ \\infty i \\pi - + * / \\cdot \\times ± ½ ² "
    "³ √ ° π ∞ ≤ Cevap: Resposta: Answer: The answer is A resposta é cevap 'dir tir </think> <think> not "
    "não değil \\overline{ \\bar{ \\dot{ \\log_ \\ln \\sin \\cos \\tan \\arcsin \\binom \\pm \\mp \\left "
    "\\right \\circ ^\\circ \\mathbb{R} \\emptyset \\mathrm{ \\quad \\, \\! \\; ~ \\lfloor \\rfloor "
    "\\langle \\rangle cm km/h TL R$ € yüzde percent ya da # ** #### <answer> \n \t \x00 1.234,5 1,234.5 "
    "1e5 0.333 999999 10^{10} 9^9 \\over \\choose C(5,2) {}^{5}C_2 F_n f(x) |AB| \\angle ABC (B) şıkkı "
    "letra even çift R: \\dots ..."
).split(" ")
_KEYS = (
    "42",
    "1/2",
    "\\sqrt{2}",
    "[0,1)",
    "(1,2)",
    "\\{1,2\\}",
    "x=5",
    "y=2x+1",
    "x \\le 3",
    "25\\%",
    "B",
    "even",
    "\\pi",
    "1.234",
    "",
)
_LANGUAGES = ("any", "en", "tr", "pt")
_SLOW_SECONDS = 5.0


def one_input(data: bytes) -> None:
    """Grade one fuzzed text every way there is."""
    provider = atheris.FuzzedDataProvider(data)
    language = _LANGUAGES[provider.ConsumeIntInRange(0, 3)]
    parts = [_PIECES[provider.ConsumeIntInRange(0, len(_PIECES) - 1)] for _ in range(provider.ConsumeIntInRange(0, 24))]
    if provider.ConsumeBool():
        parts.append(provider.ConsumeUnicodeNoSurrogates(40))
    text = (" " if provider.ConsumeBool() else "").join(parts)
    key = _KEYS[provider.ConsumeIntInRange(0, len(_KEYS) - 1)]
    start = time.process_time()
    grading.grade_answer(text, key, language=language)
    grading.grade_answer(f"\\boxed{{{text}}}", key, language=language)
    grading.grade_answer(text, text, language=language)
    for left, right in ((key, text), (text, key), (text, text)):
        equivalence._compare(fold(left), fold(right), language, Rules())
    equivalence.is_readable(text, language)
    for span in numbers.find_numbers(text, language):
        assert text[span.start : span.end] == span.text
    for box in all_boxes(text):
        assert text[box.content_start : box.content_end] == box.content
    if time.process_time() - start > _SLOW_SECONDS:
        raise TimeoutError(f"slow: {text!r}")


def main() -> None:
    scalars.proved_equal = lambda left, right: None
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
