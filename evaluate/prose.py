"""The prose of a mathematical text: mathematics taken out, sentences cut, restatements of the question dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator

FEWEST_LETTERS = 20
LONGEST_SPAN = 400
RESTATED_SHARE = 0.7
RESTATED_LETTERS = 4
PROSE_WORDS = 4

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TAG = re.compile(r"</?(?:think|thinking|reasoning|answer)>|<\|[^|<>\n]{1,40}\|>", re.IGNORECASE)
_ENVIRONMENTS = (
    "align|aligned|equation|gather|gathered|multline|eqnarray|cases|array|split|math|displaymath|[bpvV]?matrix"
)
_DISPLAY = re.compile(
    r"\$\$.*?(?:\$\$|\n\s*\n|\Z)"
    r"|\\\[.*?(?:\\\]|\n\s*\n|\Z)"
    r"|\\\(.*?(?:\\\)|\n\s*\n|\Z)"
    rf"|\\begin\{{({_ENVIRONMENTS})\*?\}}.*?(?:\\end\{{\1\*?\}}|\n\s*\n|\Z)",
    re.DOTALL,
)
_DOLLARS = re.compile(rf"(?<!\\)\$((?:[^$\n\\]|\\.){{1,{LONGEST_SPAN}}})\$")
_TEXT_COMMANDS = (
    r"text|textbf|textit|textrm|texttt|textsf|textnormal|emph|mbox|mathrm|operatorname|underline|textsc|hbox"
)
_PROSE = re.compile(r"\\(?:text|textbf|textit|textrm|textsf|textnormal|emph|mbox|hbox)\s*\{([^{}]*)\}")
_ANY_TEXT = re.compile(rf"\\(?:{_TEXT_COMMANDS})\s*\{{([^{{}}]*)\}}")
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}?")
_COMMAND = re.compile(r"\\[a-zA-Z]++\*?+(?:\s?\[[^\][\n]{0,60}\])?+(?:\s?\{[^{}]*\})*+(?!\s?\{)")
_NAME = re.compile(r"\\[a-zA-Z]+")
_SCRIPT = re.compile(r"[_^]\s?\{[^{}]*\}|[_^]\s?\\?[A-Za-z0-9]+")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_MARKS = re.compile(r"[#*`_~>|]+|^[^\S\n]*[-+•]\s", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d.,]*")
_SYMBOLS = str.maketrans(dict.fromkeys("=+-−–×·÷/<>≤≥≠≈≡±∓√∑∏∫∞∈∉⊂⊆∪∩∧∨¬→←↔⇒⇐⇔∀∃|^_%°{}[]()\\&@$", " "))
_SENTENCE = re.compile(r"(?<=[.!?;:…])\s+|(?<=[。！？；：])")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]+")


def strip_mathematics(text: str) -> str:
    r"""The text without its mathematics, code, links and marks; line breaks stay, and so does prose in `\text{...}`.

    All delimiters are read ($, $$, \( \), \[ \], environments), boxes and LaTeX commands with their arguments are taken
    out. A pair of dollars is mathematics only if no sentence stands between them, so that an amount in dollars does not
    swallow a line.

    >>> strip_mathematics(r"We get $x^2 = 4 \text{ if it is even}$ and \boxed{2}.").split()
    ['We', 'get', 'if', 'it', 'is', 'even', 'and', '.']
    >>> strip_mathematics("It costs $5 more than the other one, so we need $8 here.").split()[:3]
    ['It', 'costs', 'more']
    """
    text = _FENCE.sub(" ", text)
    text = _TAG.sub("\n", text)
    text = _DISPLAY.sub(_kept_prose, text)
    text = _DOLLARS.sub(_unless_prose, text)
    if "\\" in text:
        text = _BOX.sub(" ", text)
        text = _ANY_TEXT.sub(r" \1 ", text)
        for _ in range(4):
            shorter = _COMMAND.sub(" ", _SCRIPT.sub("", text))
            if shorter == text:
                break
            text = shorter
        text = _NAME.sub(" ", text)
    text = _URL.sub(" ", text)
    text = _MARKS.sub(" ", text)
    text = _NUMBER.sub(" ", text)
    return text.translate(_SYMBOLS)


def _kept_prose(match: re.Match[str]) -> str:
    span = _BOX.sub(" ", match[0])
    return f" {' '.join(_PROSE.findall(span))} " if "\\" in span else " "


def _unless_prose(match: re.Match[str]) -> str:
    inside = _ANY_TEXT.sub(" ", match[1])
    words = [word for word in _WORD.findall(_COMMAND.sub(" 0 ", inside)) if len(word) > 2]
    return match[0] if len(words) >= PROSE_WORDS else _kept_prose(match)


def count_letters(text: str) -> int:
    """The letters of a text, of any script.

    >>> count_letters("Kısa: a1 b2, çöğ!")
    9
    """
    return sum(map(str.isalpha, text))


def split_segments(prose: str) -> Iterator[str]:
    """The sentences of stripped text, line by line, with at least 20 letters each; spaces are collapsed.

    >>> list(split_segments("Short. This sentence is long enough to be kept. So.\\nAnd this line is kept as well"))
    ['This sentence is long enough to be kept.', 'And this line is kept as well']
    """
    for line in prose.splitlines():
        if len(line) < FEWEST_LETTERS:
            continue
        for sentence in _SENTENCE.split(line):
            segment = _SPACES.sub(" ", sentence).strip()
            if len(segment) >= FEWEST_LETTERS and count_letters(segment) >= FEWEST_LETTERS:
                yield segment


def question_words(question: str) -> frozenset[str]:
    """The words of a question that count for restatements: those of at least four letters, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(question) if len(word) >= RESTATED_LETTERS)


def is_restatement(segment: str, words: frozenset[str]) -> bool:
    """Whether at least 70% of a segment's words of four letters or more are the question's.

    >>> is_restatement("Now try every positive integer", question_words("What is the smallest positive integer?"))
    False
    >>> is_restatement("the smallest positive integer", question_words("What is the smallest positive integer?"))
    True
    """
    own = [word.lower() for word in _WORD.findall(segment) if len(word) >= RESTATED_LETTERS]
    return bool(own) and sum(word in words for word in own) >= RESTATED_SHARE * len(own)
