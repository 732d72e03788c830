"""LaTeX and plain text to tokens, in time linear in the text and without running anything of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.boxes import closing_braces
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.numbers import Notation, read_number, to_int

TokenKind = Literal["num", "sym", "fn", "word", "op", "rel", "sep", "open", "close", "cmd", "text"]

MAX_CHARS = 12_000
MAX_TOKENS = 6_000


class TooLarge(Exception):
    """The answer is larger than a grader needs to read."""


@dataclass(frozen=True, slots=True)
class Token:
    """One sign, word or number; `spaced` says that white space stands before it, `value` is a number's value."""

    kind: TokenKind
    text: str
    spaced: bool = False
    value: Fraction | None = None
    exact: bool = True


_TEXT = frozenset("text mbox textrm textnormal hbox texttt textsf textup textmd mathrm operatorname rm".split())  # noqa: SIM905
_STYLE = frozenset(
    "mathbf textbf boldsymbol bm pmb mathit textit emph underline mathsf mathcal mathtt mathfrak ensuremath bf it "  # noqa: SIM905
    "textsl underbrace cancel boxed fbox framebox phantom vphantom hphantom".split()
)
_IGNORED = frozenset(
    "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits left right big Big bigg Bigg bigl bigr Bigl "  # noqa: SIM905
    "Bigr biggl biggr Biggl Biggr middle mathstrut strut hfill noindent centering large Large small normalsize "
    "thinspace medspace thickspace negthinspace quad qquad hspace vspace newline nonumber notag label tag par "
    "checkmark".split()
)
_RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "=<": "<=", "=>": "=>", "!=": "!=",
    "<>": "!=", "~=": "~", "~": "~", "≡": "equiv",
}  # fmt: skip
_RELATION_COMMANDS = {
    "le": "<=", "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=", "geqq": ">=",
    "lt": "<", "gt": ">", "ne": "!=", "neq": "!=", "approx": "~", "simeq": "~", "sim": "~", "in": "in", "ni": "ni",
    "notin": "notin", "equiv": "equiv", "cong": "~", "to": "to", "rightarrow": "to", "implies": "=>",
    "Rightarrow": "=>", "Leftrightarrow": "=>", "iff": "=>", "longrightarrow": "=>", "Longrightarrow": "=>",
    "coloneqq": "=", "doteq": "~", "propto": "propto", "subset": "subset", "subseteq": "subseteq",
}  # fmt: skip
_DELIMITERS = {
    "{": ("open", "{"), "}": ("close", "{"), "lbrace": ("open", "{"), "rbrace": ("close", "{"),
    "langle": ("open", "<"), "rangle": ("close", ">"), "lfloor": ("open", "floor"), "rfloor": ("close", "floor"),
    "lceil": ("open", "ceil"), "rceil": ("close", "ceil"), "lbrack": ("open", "["), "rbrack": ("close", "]"),
    "lvert": ("op", "|"), "rvert": ("op", "|"), "vert": ("op", "|"), "mid": ("op", "|"), "|": ("op", "|"),
    "Vert": ("op", "|"), "lVert": ("op", "|"), "rVert": ("op", "|"),
}  # fmt: skip
_OPERATORS = {
    "cdot": "*", "times": "*", "ast": "*", "div": "/", "pm": "±", "mp": "∓", "%": "%", "colon": ":", "cdotp": "*",
    "prime": "'", "land": "∧", "lor": "∨", "wedge": "∧", "vee": "∨", "slash": "/",
}  # fmt: skip

_SPACE = re.compile(r"(?:\s|~|\\[,;:! >/]|\$|\\\(|\\\)|\\\[|\\\](?!\w)|\\ )+")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?|\\(.)", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]{2,})*")
_SIGNS = re.compile(r"\*\*|==|:=|<=|>=|=<|=>|!=|<>|~=|.", re.DOTALL)
_REPEATING = re.compile(
    r"(\d+)(?:[.,]|\{,\})(\d*)(?:\\(?:overline|bar|overbar)\s?(?:\{(\d+)\}|(\d))|\((\d+)\)|\\dot\s?(?:\{(\d)\}|(\d)))"
)
# `0.1666...`: the digits before the dots repeat without end.
_ENDLESS = re.compile(
    r"(\d{1,9}(?=\.)|0(?=,)|0(?=\{,\}))(?:[.,]|\{,\})(\d{0,6}?)(\d{1,6}?)\3{2,12}\s?(?:\.\.\.|\\[lc]?dots(?![A-Za-z]))"
)
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,6})(?![\w.])")
_TIGHT_COMMA = re.compile(r"(?<=\d),\\!\s?(?=\d{3}(?!\d))")
# `3 tam 1/2`: the Turkish mixed number, three and a half.
_WHOLES = re.compile(
    r"(?<![\d.,])(\d{1,9})(?:[\s~$]|\\[ ,;:!])*+(?:\\(?:text|mathrm|mbox)\s?\{\s*tam\s*\}|tam(?![a-zçğıöşü]))"
    r"(?:[\s~$]|\\[ ,;:!])*+(?=\d+\s?/\s?\d|\\[dt]?frac)"
)
# The rest of `[1,5]` behind its bracket.
_PAIR = re.compile(r"\d+,\d+\s*(?:\\right\s*)?\\?([\])\[}])")
_BASED = re.compile(r"(\d[0-9A-F]*[A-F][0-9A-F]*)(?=_)")
_TIMES_X = re.compile(r"\s?[xX]\s?(?=10\s?(?:\^|\*\*|\{))")
_CURRENCY = re.compile(r"(?:R|US|A|C)?\\?\$\s?(?=[-+]?[\d.])|R\\?\$|US\\?\$|\\\$|[€£₺]")
_MONEY = frozenset("$€£₺")
_SPACE_STARTS = frozenset(" ~$\\")
_CURRENCY_NAMES = {"R$": "brl", "US$": "usd", "$": "usd", "€": "eur", "£": "gbp", "₺": "try"}
_OPENERS, _CLOSERS = "([", ")]"


class _Lexer:
    def __init__(self, text: str, notation: Notation, *, in_text: bool, depth: int) -> None:
        self.text, self.notation, self.in_text, self.depth = text, notation, in_text, depth
        self.tokens: list[Token] = []
        self.position = 0
        self.spaced = False
        self.nested = 0

    @cached_property
    def pairs(self) -> dict[int, int]:
        return closing_braces(self.text, 0)

    def add(self, kind: TokenKind, text: str, value: Fraction | None = None, *, exact: bool = True) -> None:
        self.tokens.append(Token(kind, text, self.spaced, value, exact))
        self.spaced = False
        if len(self.tokens) > MAX_TOKENS:
            raise TooLarge("too many tokens")

    def run(self) -> list[Token]:
        text, end = self.text, len(self.text)
        money = not _MONEY.isdisjoint(text)
        while self.position < end:
            mark = text[self.position]
            if mark.isdigit() or mark == ".":
                self._number()
            elif money and (match := _CURRENCY.match(text, self.position)) and self._is_currency(match):
                self.position = match.end()
                self.add("word", _CURRENCY_NAMES.get(match[0].replace("\\", "").strip(), "usd"))
            elif (mark in _SPACE_STARTS or mark.isspace()) and (match := _SPACE.match(text, self.position)):
                self.position, self.spaced = match.end(), True
            elif mark == "\\":
                self._command()
            elif mark.isalpha() and (match := _LETTERS.match(text, self.position)):
                self.position = match.end()
                self._letters(match[0])
            else:
                self._sign()
        return self.tokens

    def _is_currency(self, match: re.Match[str]) -> bool:
        mark = match[0]
        if mark[0] in "€£₺\\RUAC":
            return not (mark[0] in "RUAC" and self.position and self.text[self.position - 1].isalpha())
        return self.text.count("$") % 2 == 1 and not self.in_text

    def _number(self) -> None:
        text, start = self.text, self.position
        if (match := _BASED.match(text, start)) and not self.in_text:
            self.position = match.end()
            self.add("num", match[1], Fraction(0), exact=False)
            return
        if match := _REPEATING.match(text, start):
            self.position = match.end()
            period = next(group for group in match.groups()[2:] if group)
            shown = to_int(match[1] + match[2])
            value = Fraction(
                to_int(match[1] + match[2] + period) - shown, 10 ** len(match[2]) * (10 ** len(period) - 1)
            )
            self.add("num", match[0], value)
            return
        if match := _ENDLESS.match(text, start):
            self.position = match.end()
            whole, shown, period = to_int(match[1] + match[2]), len(match[2]), match[3]
            self.add("num", match[0], (whole + Fraction(int(period), 10 ** len(period) - 1)) / 10**shown)
            return
        notation = Notation("list", self.notation.dot) if self._is_pair() else self.notation
        reading = read_number(text, start, notation, nested=self.nested > 0)
        if reading is None:
            self._sign()
            return
        value, plain, self.position = reading.value, reading.plain, reading.end
        if (match := _EXPONENT.match(text, self.position)) and not self.in_text:
            self.position = match.end()
            exponent = int(match[1])
            if abs(exponent) > 5000:
                raise TooLarge("an exponent beyond what is read")
            value *= Fraction(10) ** exponent
            plain += "e"
        self.add("num", plain, value)
        if match := _TIMES_X.match(text, self.position):
            self.position = match.end()
            self.add("op", "*")

    def _is_pair(self) -> bool:
        """Whether the number starts `[1,5]`, `{1,5}` or `[1,5)`: two values, whatever the comma means elsewhere."""
        opened = self.tokens[-2:]
        if opened and opened[-1].text == "-":
            opened = opened[:-1]
        if not opened or opened[-1].kind != "open" or opened[-1].text not in ("[", "{", "("):
            return False
        match = _PAIR.match(self.text, self.position)
        return match is not None and (opened[-1].text != "(" or match[1] == "]")

    def _letters(self, run: str) -> None:
        lower = run.lower()
        if lower in ("am", "pm") and self.tokens and self.tokens[-1].kind == "num" and ":" in self.text:
            self.add("word", lower)
        elif self.in_text:
            if run in words.FUNCTIONS and len(self.text.strip()) == len(run):
                self.add("fn", words.FUNCTIONS[run])
            else:
                self.add("word", run)
        elif len(run) == 1:
            self.add("sym" if run.isascii() else "word", run)
        elif run in words.FUNCTIONS or (lower in words.FUNCTIONS and run.isupper() and len(run) > 2):
            self.add("fn", words.FUNCTIONS.get(run) or words.FUNCTIONS[lower])
        elif lower in ("pi", "infinity", "inf"):
            self.add("cmd", "pi" if lower == "pi" else "infty")
        elif (
            run[:-1] in words.FUNCTIONS and len(run) > 3 and run[-1] in "xytnabcθ" and fold_case(run) not in words.UNITS
        ):
            self.add("fn", words.FUNCTIONS[run[:-1]])
            self.add("sym", run[-1])
        elif _is_word(run) or (
            run in ("de", "of", "do", "da") and self.spaced and self.tokens[-1:] and self.tokens[-1].kind == "word"
        ):
            self.add("word", run)
        else:
            for letter in run:
                self.add("sym", letter)

    def _command(self) -> None:
        match = _COMMAND.match(self.text, self.position)
        if match is None:
            self.position += 1
            self.add("op", "\\")
            return
        self.position = match.end()
        name = match[1] or match[2]
        if name == "\\":
            # A line break, perhaps with a skip such as [2pt].
            if skip := re.match(r"\s*\[\d+\s*(?:pt|ex|em|mm)\]", self.text[self.position : self.position + 20]):
                self.position += skip.end()
            self.add("sep", "\\")
        elif name in _TEXT or name in _STYLE:
            self._group_of_text(name)
        elif name in ("begin", "end"):
            self._environment(name)
        elif name in _IGNORED or name in words.CHOICE_WORDS:
            self._ignored(name)
        elif name in _RELATION_COMMANDS:
            self.add("rel", _RELATION_COMMANDS[name])
        elif name in _DELIMITERS:
            kind, sign = _DELIMITERS[name]
            self.nested += {"open": 1, "close": -1}.get(kind, 0)
            self.add(kind, sign)  # type: ignore[arg-type]
        elif name in _OPERATORS:
            self.add("op", _OPERATORS[name])
        elif name in words.FUNCTIONS and name not in ("sqrt", "binom"):
            self.add("fn", words.FUNCTIONS[name])
        elif name in words.GREEK:
            self.add("sym", "\\" + name.removeprefix("var"))
        elif name in ("textcolor", "color"):
            self._colour(name)
        else:
            self.add("cmd", name)

    def _ignored(self, name: str) -> None:
        # `\right.` and `\left.` are delimiters that show nothing.
        if name in ("left", "right") and self.text.startswith(".", self.position):
            self.position += 1
        if name in ("quad", "qquad", "newline"):
            self.add("sep", "quad")
        elif name in ("hspace", "vspace", "tag", "label") and (
            m := re.compile(r"\*?\{[^{}]*\}").match(self.text, self.position)
        ):
            self.position = m.end()
        self.spaced = self.spaced or name not in ("left", "right")

    def _colour(self, name: str) -> None:
        if match := re.compile(r"\s*\{[^{}]*\}").match(self.text, self.position):
            self.position = match.end()

    def _environment(self, name: str) -> None:
        match = re.compile(r"\s*\{([A-Za-z]+)\*?\}(?:\s*[\[{][|lcr@!\s]*[\]}])?").match(self.text, self.position)
        if match is None:
            self.add("cmd", name)
            return
        self.position = match.end()
        self.nested += 1 if name == "begin" else -1
        self.add("open" if name == "begin" else "close", f"env:{match[1]}")

    def _group_of_text(self, name: str) -> None:
        """`\\text{...}` in words; a formula inside is read as one."""
        start = self.position
        while start < len(self.text) and self.text[start] == " ":
            start += 1
        close = self.pairs.get(start)
        if close is None:
            return
        content = self.text[start + 1 : close]
        self.position = close + 1
        if name.endswith("phantom"):
            return
        if self.depth > 8:
            raise TooLarge("text within text")
        # A bold or slanted formula is a formula; only its words are words.
        as_words = name in _TEXT or name.startswith("text") or re.search(r"[^\W\d_]{3}", content) is not None
        if name in ("mathrm", "operatorname", "rm") and len(content.strip()) == 1:
            as_words = False
        inner = _Lexer(content, self.notation, in_text=as_words and "\\" not in content, depth=self.depth + 1)
        inner.nested = self.nested
        if tokens := inner.run():
            first = tokens[0]
            self.tokens.append(
                Token(first.kind, first.text, self.spaced or content[0] == " ", first.value, first.exact)
            )
            self.tokens.extend(tokens[1:])
        self.spaced = content.endswith(" ")

    def _sign(self) -> None:
        match = _SIGNS.match(self.text, self.position)
        sign = match[0] if match else self.text[self.position]
        if sign == "!=" and not self.spaced and self.tokens and self.tokens[-1].kind == "num":
            # `6!=720` is a factorial and its value.
            sign = "!"
        self.position += len(sign)
        if sign in _RELATIONS:
            self.add("rel", _RELATIONS[sign])
        elif sign in _OPENERS:
            self.nested += 1
            self.add("open", sign)
        elif sign in _CLOSERS:
            self.nested -= 1
            self.add("close", sign)
        elif sign in "{}":
            self.add("open" if sign == "{" else "close", "group")
        elif sign in ",;":
            self.add("sep", sign)
        elif sign == "&":
            self.add("sep", "&")
        else:
            self.add("op", "^" if sign == "**" else sign)


_KNOWN = frozenset(
    fold_case(word)
    for group in (
        words.UNITS, words.FIXED, words.PERCENT, words.PERCENT_PARTS, words.MULTIPLIERS, words.QUALIFIERS,
        words.CHOICE_WORDS, words.ROUNDED, words.AND, words.OR, words.NUMBER_WORDS, words.LABELS,
    )
    for word in group
)  # fmt: skip


def _is_word(run: str) -> bool:
    """Whether letters are a word rather than a product of variables."""
    if fold_case(run) in _KNOWN or not run.isascii():
        return True
    return len(run) > 4 or (len(run) > 3 and not run.isupper() and any(c in "aeiouAEIOU" for c in run))


def tokenize(text: str, notation: Notation) -> list[Token]:
    r"""The tokens of a folded answer; raises TooLarge beyond 12,000 characters or 6,000 tokens.

    >>> from multilingual_math_audit.evaluate.answers.numbers import ENGLISH
    >>> [token.text for token in tokenize(r"\frac{1,234}{x} \text{ cm}", ENGLISH)]
    ['frac', 'group', '1234', 'group', 'group', 'x', 'group', 'cm']
    """
    if len(text) > MAX_CHARS:
        raise TooLarge("too many characters")
    # `12,\!345`: a comma with its space taken back groups digits whatever the notation.
    text = _TIGHT_COMMA.sub("", text).replace("{:}", ":")
    if "tam" in text:
        text = _WHOLES.sub(r"\1 ", text)
    try:
        return _Lexer(text, notation, in_text=False, depth=0).run()
    except OverflowError as error:
        raise TooLarge(str(error)) from None
