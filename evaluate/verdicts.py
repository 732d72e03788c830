"""A judge's verdict: read from one judgment, and decided from several."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from multilingual_math_audit.evaluate.answers.boxes import Box, all_boxes
from multilingual_math_audit.evaluate.answers.thinking import visible_part
from multilingual_math_audit.records import FinishReason, VerdictReason
from multilingual_math_audit.records import Verdict as VerdictValue

Strategy = Literal["any", "majority", "all", "strict_majority"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judgment says: `value` is yes, no or None, and `reason` says why there is none."""

    value: VerdictValue | None
    reason: VerdictReason


def parse_verdict(text: str, *, finish_reason: FinishReason = "stop") -> Verdict:
    r"""The verdict of one judgment: its last complete visible box that reads yes or no in one of the three languages.

    Visible is what follows the thinking part. Wrappers of text and style, case and a closing full stop are read
    through; a box with anything else is passed over, and so are the prompt's own "yes or no" boxes when a judge repeats
    them. Without a verdict the reason is `stopped_at_limit`, `no_box`, `not_yes_no` (boxes, none a verdict) or `error`.

    >>> parse_verdict(r"<think>\boxed{no}?</think> Sound. The answer \boxed{7} is right: \boxed{\text{Yes.}}")
    Verdict(value='yes', reason='verdict')
    >>> parse_verdict(r"<think>I must answer \boxed{yes} or \boxed{no}", finish_reason="length")
    Verdict(value=None, reason='stopped_at_limit')
    >>> parse_verdict(r"\boxed{not yes}").reason, parse_verdict("yes").reason
    ('not_yes_no', 'no_box')
    """
    if finish_reason == "error":
        return Verdict(None, "error")
    visible = visible_part(_without_mentions(text) if finish_reason == "stop" else text)
    boxes = [box for box in all_boxes(visible) if box.content.strip()]
    stated = [(box, _read_word(box.content)) for box in boxes]
    for index in _not_echoed(visible, stated):
        word = stated[index][1]
        if word is not None:
            return Verdict(word, "verdict")
    if finish_reason == "length":
        return Verdict(None, "stopped_at_limit")
    own = any(True for _ in _not_echoed(visible, stated))
    return Verdict(None, "not_yes_no" if own else "no_box")


WORDS: dict[str, VerdictValue] = {
    "yes": "yes", "no": "no",
    "evet": "yes", "hayır": "no", "hayir": "no",
    "sim": "yes", "não": "no", "nao": "no",
}  # fmt: skip
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|textsc|textup|textnormal|emph|underline|mathrm|mathbf|mathit|mathsf"
    r"|mathtt|operatorname|mbox|hbox|bf|rm|it|sf|tt|boldsymbol|bm|boxed|fbox|displaystyle|textstyle|large|Large|LARGE"
    r"|huge|Huge|normalsize|small|quad|qquad)(?![A-Za-z])\*?|\\color\s*\{[^{}]*\}|\\textcolor\s*\{[^{}]*\}|\\[,;:! ]"
)
_LONGEST_VERDICT = 200
_ECHO_JOIN = re.compile(r"[\s`'\"“”‘’$*_.,()\\]*(?:or|/|\||veya|ya da|ou)[\s`'\"“”‘’$*_.,()\\]*", re.IGNORECASE)
_MENTION = re.compile(r"(?<=[^\s>])[ \t`'\"“‘(*_]*(<\s*(?:think|thinking|thought|reasoning)\s*>)", re.IGNORECASE)


def _without_mentions(text: str) -> str:
    """Without the opening tags that are only spoken of in the middle of a sentence: they open no thinking."""
    return _MENTION.sub(" ", text) if "<" in text else text


def _read_word(content: str) -> VerdictValue | None:
    if len(content) > _LONGEST_VERDICT:
        return None
    plain = _WRAPPER.sub(" ", unicodedata.normalize("NFC", content))
    plain = plain.strip(" \t\r\n{}$*_`'\"“”‘’.!~\u00a0")
    return WORDS.get(plain.replace("İ", "i").lower().replace("i̇", "i"))


def _not_echoed(visible: str, stated: Sequence[tuple[Box, VerdictValue | None]]) -> Iterator[int]:
    """Box numbers from the last to the first, leaving out pairs "yes or no" that offer both and choose neither."""
    index = len(stated) - 1
    while index >= 0:
        box, word = stated[index]
        if index > 0 and word is not None:
            before, other = stated[index - 1]
            between = visible[before.end : box.start]
            if other is not None and other != word and len(between) < 60 and _ECHO_JOIN.fullmatch(between):
                index -= 2
                continue
        yield index
        index -= 1


def approves(verdicts: Sequence[VerdictValue | None], strategy: Strategy = "majority") -> bool:
    """Whether the verdicts on one solution approve it: any has a yes; majority has more yes than no; all has nothing
    but yes; strict_majority has a yes in more than half of all judgments asked for.

    No judgments approve nothing.

    >>> approves(["yes", None, None]), approves(["yes", "no", None]), approves([])
    (True, False, False)
    >>> approves(["yes", None, None], "strict_majority"), approves(["yes", "yes", None], "all")
    (False, False)
    """
    yes, no = verdicts.count("yes"), verdicts.count("no")
    if strategy == "any":
        return yes > 0
    if strategy == "majority":
        return yes > no
    if strategy == "all":
        return 0 < yes == len(verdicts)
    return 2 * yes > len(verdicts)
