"""What a number in a chain is for: a quantity that computes something, or an exponent, a label, an ordinal, a year."""

from __future__ import annotations

import re
from typing import Literal

from multilingual_math_audit.evaluate.numerals import Place, is_attached

Role = Literal["quantity", "exponent", "subscript", "identifier", "ordinal", "label", "tag", "year", "layout", "date"]

_LABEL_WORDS = (
    # English
    "step|case|cases|equation|equations|eq|eqs|eqn|part|figure|fig|section|theorem|lemma|corollary|proposition|question|"
    "problem|option|method|claim|row|column|line|approach|attempt|note|page|chapter|example|property|rule|exercise|item|"
    "phase|stage|solution|point|condition|statement|fact|table|appendix|version|scenario|type|level|subcase|no|nr|"
    # Turkish
    "adım|durum|denklem|eşitlik|şekil|bölüm|teorem|soru|problem|seçenek|yöntem|örnek|satır|sütun|kural|özellik|madde|"
    "aşama|çözüm|koşul|önerme|sayfa|hal|kısım|"
    # Portuguese
    "passo|caso|casos|equação|equações|figura|secção|seção|teorema|lema|questão|problema|opção|método|exemplo|linha|"
    "coluna|regra|etapa|parte|nota|propriedade|hipótese|condição|exercício|capítulo|página|alínea|fase|n\\.º|nº"
)
_LABEL_BEFORE = re.compile(rf"(?<![^\W\d_])(?:{_LABEL_WORDS})\.?[\s~}}]*(?:\*\*)?[#№(\[]?\s?$", re.IGNORECASE)
_LISTED_LABEL = re.compile(
    rf"(?<![^\W\d_])(?:{_LABEL_WORDS})\.?[\s~]*\(?[0-9]+\)?(?:\s*(?:,|and|&|ve|e|or|veya|ou)\s*\(?[0-9]+\)?){{0,3}}"
    r"\s*(?:,|and|&|ve|e|or|veya|ou)\s*\(?$",
    re.IGNORECASE,
)
_LINE_LEAD = re.compile(r"(?:^|\n)[ \t>#*_\-+•(\[]*$")
# A label has its text on the same line; a number alone on its line, `12.`, is an answer.
_LINE_TAIL = re.compile(
    r"(?:\\?\.|\)|\]|:|º)(?:\*\*|__)?[ \t]+\S|(?:\*\*|__)[.):][ \t]+\S|(?:\\?\.|\)|:)(?:\*\*|__)(?=\s|$)"
)
_ORDINAL_AFTER = re.compile(
    r"[-\s]?(?:st|nd|rd|th)\b|\s?\^\{?\s?\\?(?:text|mathrm|textrm)?\s?\{?(?:st|nd|rd|th|o|a|os|as)\b"
    r"|\\textsuperscript|[.]?[ºª]|\.(?:o|a|os|as)\b|['’]?(?:[iıuü]?nc[iıuü])",
)
_TURKISH_ORDINAL = re.compile(r"\. (?=[a-zçğıöşü])")
_TAG_BEFORE = re.compile(r"(?:^|[^\s=+\-−*/×·<>≤≥(,{&|^]\s+|\n\s*)$")
_TAG_AFTER = re.compile(r"[)\]](?=$|[\s.,;:])")
_LAYOUT = re.compile(
    r"\\(?:tag|label|ref|eqref|cite|hspace|vspace|hskip|vskip|kern|color|textcolor|begin|end|phantom|url|href|rule|"
    r"includegraphics|setlength|pageref|footnote|mathchoice|multicolumn|cline|cmidrule|hline)\*?"
    r"(?:\[[^\]]*\]|\{[^{}]*\})*\s?[{\[][^{}\[\]]*$"
)
_OPERATOR_BEFORE = re.compile(
    r"(?:[=+\-−–*/×·÷<>≤≥≈√]|\\(?:times|cdot|div|leq?|geq?|neq?|approx|equiv|pm|sqrt|frac|dfrac|tfrac|d?binom)"
    r"|\\[dt]?frac\{[^{}]*\}\{|\\(?:sqrt|frac|dfrac|tfrac|d?binom)\{)[\s(${]*$"
)
_OPERATOR_AFTER = re.compile(
    r"[\s)$}\]]*(?:[=+\-−–*/×·÷<>≤≥≈^!%]|\\(?:times|cdot|div|leq?|geq?|neq?|approx|equiv|pm|sqrt|pi|choose|%))"
)
_DATE = re.compile(
    r"(?<![0-9])(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})(?![0-9])"
)


def role_of(text: str, place: Place, language: str) -> Role:
    r"""What the number at `place` is for.

    >>> from multilingual_math_audit.evaluate.numerals import find_places
    >>> text = "Step 2: the 3rd term is $a_1 + x^{2k+1} = 15$."
    >>> [role_of(text, place, "en") for place in find_places(text, "en")]
    ['label', 'ordinal', 'subscript', 'exponent', 'exponent', 'quantity']
    """
    start, end = place.start, place.end
    if attached := _attachment(text, start):
        return attached
    enclosing = _enclosing(text, start)
    if enclosing is not None:
        return enclosing
    before, after = text[max(0, start - 48) : start], text[end : end + 24]
    if _ORDINAL_AFTER.match(after) or (language == "tr" and _TURKISH_ORDINAL.match(after)):
        return "ordinal"
    if _is_label(before, after, place):
        return "label"
    if _is_tag(before, after, place):
        return "tag"
    if any(match.start() < end and match.end() > start for match in _DATE.finditer(text, max(0, start - 8), end + 8)):
        return "date"
    if _is_year(text, place, before, after):
        return "year"
    return "quantity"


def computes(text: str, place: Place) -> bool:
    """Whether an operation or a relation stands directly before or after the number."""
    before, after = text[max(0, place.start - 32) : place.start], text[place.end : place.end + 12]
    return bool(_OPERATOR_BEFORE.search(before) or _OPERATOR_AFTER.match(after))


def _attachment(text: str, start: int) -> Role | None:
    """The role of a number that is glued to what stands before it; a sign in between does not loosen it."""
    at = start
    while at and text[at - 1] in "-−+":
        at -= 1
    before = text[at - 1 : at] if at else ""
    if before == "^":
        return "exponent"
    if before == "_":
        lead = text[at - 2 : at - 1] if at > 1 else ""
        return "subscript" if lead and (lead.isalnum() or lead in ")}]'|") else None
    return "identifier" if at == start and is_attached(text, start) else None


def _enclosing(text: str, start: int) -> Role | None:
    """The role that an open brace or bracket on the same line gives to everything inside it."""
    at, depth = start - 1, 0
    floor = max(0, start - 160)
    while at >= floor and text[at] != "\n":
        character = text[at]
        if character == "}":
            depth += 1
        elif character == "{" and depth:
            depth -= 1
        elif character == "{":
            lead = text[at - 1 : at]
            if lead in ("^", "_"):
                return "exponent" if lead == "^" else "subscript"
            if _LAYOUT.search(text[max(0, at - 40) : at + 1]):
                return "layout"
        elif character == "[" and not depth and text.startswith("\\sqrt", max(0, at - 5)):
            return "exponent" if "]" not in text[at:start] else None
        at -= 1
    return None


def _is_label(before: str, after: str, place: Place) -> bool:
    if place.form != "plain" or place.negative:
        return False
    if _LABEL_BEFORE.search(before) or _LISTED_LABEL.search(before):
        return True
    small = place.end - place.start <= 2
    return small and bool(_LINE_LEAD.search(before) and _LINE_TAIL.match(after))


def _is_tag(before: str, after: str, place: Place) -> bool:
    """Whether a number may be an equation's tag, `(3)` on its own among words: not an argument, not a factor."""
    small = place.form == "plain" and not place.negative and place.end - place.start <= 2
    return small and before[-1:] in ("(", "[") and bool(_TAG_BEFORE.search(before[:-1]) and _TAG_AFTER.match(after))


def _is_year(text: str, place: Place, before: str, after: str) -> bool:
    digits = text[place.start : place.end]
    if len(digits) != 4 or not digits.isdigit() or not 1900 <= int(digits) <= 2099:
        return False
    return not (_OPERATOR_BEFORE.search(before) or _OPERATOR_AFTER.match(after))
