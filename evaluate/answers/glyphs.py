"""Unicode as people and models type it, folded to LaTeX and ASCII; letters of the languages stay as they are."""

from __future__ import annotations

import re
import unicodedata

_MARKS: dict[str, str] = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "－": "-",
    "×": r"\times ", "✕": r"\times ", "⨯": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "•": r"\cdot ",
    "÷": r"\div ", "∕": "/", "⁄": "/", "／": "/", "±": r"\pm ", "∓": r"\mp ", "√": r"\surd ", "∛": r"\sqrt[3]\surd ",
    "∜": r"\sqrt[4]\surd ", "∞": r"\infty ", "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ",
    "≧": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "≅": r"\cong ", "≡": r"\equiv ", "∪": r"\cup ", "∩": r"\cap ",
    "∖": r"\setminus ", "∈": r"\in ", "∉": r"\notin ", "∅": r"\emptyset ", "Ø": r"\emptyset ", "ø": r"\emptyset ",
    "°": r"^{\circ}", "º": r"^{\circ}", "˚": r"^{\circ}", "∘": r"\circ ", "∠": r"\angle ", "△": r"\triangle ", "′": "'",
    "’": "'", "‘": "'", "ʼ": "'", "＇": "'", "″": "''", "“": '"', "”": '"', "…": r"\ldots ", "⋯": r"\cdots ",
    "→": r"\to ", "⇒": r"\Rightarrow ", "⟹": r"\Rightarrow ", "⇔": r"\Leftrightarrow ", "⟨": r"\langle ",
    "⟩": r"\rangle ", "〈": r"\langle ", "〉": r"\rangle ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ",
    "⌉": r"\rceil ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ", "∧": r"\land ", "∨": r"\lor ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "ℯ": "e",
    "ⅈ": "i", "ⅇ": "e", "٫": ".", "٬": ",", "،": ",", "٪": "%", "％": "%", "؛": ";",
    "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅕": r"\frac{1}{5}", "⅖": r"\frac{2}{5}", "⅗": r"\frac{3}{5}", "⅘": r"\frac{4}{5}", "⅙": r"\frac{1}{6}",
    "⅚": r"\frac{5}{6}", "⅐": r"\frac{1}{7}", "⅛": r"\frac{1}{8}", "⅜": r"\frac{3}{8}", "⅝": r"\frac{5}{8}",
    "⅞": r"\frac{7}{8}", "⅑": r"\frac{1}{9}", "⅒": r"\frac{1}{10}",
    "µ": r"\mu ", "ϕ": r"\phi ", "ϑ": r"\theta ", "ϵ": r"\epsilon ", "∆": r"\Delta ", "Ω": r"\Omega ",
}  # fmt: skip
_GREEK = (  # noqa: SIM905
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho final sigma tau upsilon "
    "phi chi psi omega"
).split()
_MARKS |= {chr(0x3B1 + n): rf"\{name} " for n, name in enumerate(_GREEK) if name not in ("final", "omicron")}
_MARKS |= {chr(0x391 + n): rf"\{name.capitalize()} " for n, name in enumerate(_GREEK) if name in (
    "gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "phi", "psi", "omega")}  # fmt: skip
# An invisible mark changes nothing; a null byte is no part of any answer and must not join two numbers.
_INVISIBLE = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u2061\u2062\u2063\u2064\u200e"
    "\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufe0e\ufe0f"
)
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix", strict=True))
_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₖ", "0123456789+-()nk", strict=True))
_SUPER_RUN = re.compile(f"[{''.join(_SUPER)}]+")
_SUB_RUN = re.compile(f"[{''.join(_SUB)}]+")


class _Table(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


def _fold_character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if character in _INVISIBLE:
        return ""
    if character < " " and character not in "\t\n\r":
        return "\x00"
    if character.isspace():
        return "\n" if character in "\n\r\u2028\u2029\x85" else " "
    if character < "\x80":
        return character
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKC", character)
    if plain != character and len(plain) <= 4:
        return "".join(_MARKS.get(part, part) for part in plain)
    return character


_FOLD = _Table()
# In plain text a raised Unicode 2 after a metre is an area, never a variable squared.
_UNIT_POWER = re.compile(r"(?<=\d)\s?([cdkm]?m)([²³])(?!\w)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


def fold(text: str) -> str:
    r"""The text with typographic signs as LaTeX or ASCII.

    >>> fold("−2³ ≤ ½√５")
    '-2^{3} \\le  \\frac{1}{2}\\surd 5'
    """
    if text.isascii():
        return text.translate(_FOLD) if _CONTROL.search(text) else text
    text = _UNIT_POWER.sub(_unit_power, text)
    text = _SUPER_RUN.sub(lambda run: "^{" + "".join(_SUPER[c] for c in run[0]) + "}", text)
    text = _SUB_RUN.sub(lambda run: "_{" + "".join(_SUB[c] for c in run[0]) + "}", text)
    return unicodedata.normalize("NFC", text).translate(_FOLD)


def _unit_power(match: re.Match[str]) -> str:
    return rf"\text{{ {match[1]}}}^{'2' if match[2] == '²' else '3'}"


def fold_case(text: str) -> str:
    """Lower case that does not tell Turkish dotted and dotless i apart, so that words compare in any language.

    >>> fold_case("HAYIR") == fold_case("hayır") == fold_case("Hayir")
    True
    """
    return text.replace("İ", "i").replace("I", "i").replace("ı", "i").casefold()
