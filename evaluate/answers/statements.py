"""The final statement of a reply without a box: `the answer is 42`, `Cevap: 42`, `A resposta é 42`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.phrases import Value, first_value
from multilingual_math_audit.records import Doubt

_TAIL = 6_000
_MAX_LEAD_WORDS = 8


@dataclass(frozen=True, slots=True)
class Statement:
    """The value a reply states in words: the string, the kind of statement, and how doubtful it is."""

    answer: str
    where: Literal["statement", "sentence", "whole"]
    doubt: Doubt = "none"


_MARKUP = r"[*_#>`~\s]*"
_EN = r"(?:final|correct|right|exact|numerical|numeric|corrected)?\s*\b(?:answers?|ans)\b(?:\s+(?:to|for|of)\s+[^.:=\n]{0,60}?)?"
_TR = (
    r"\b(?:nihai|doğru|son|kesin)?\s*(?:cevap(?:lar)?(?:ı|imiz|ımız)?|cevab(?:ı|ımız|ımızdır)|yanıt(?:lar)?(?:ı|ımız)?|"
    r"sonuç(?!\s+olarak)(?:lar)?|sonuc(?:u|umuz)|doğru\s+(?:seçenek|şık))\b"
)
_PT = r"\b(?:respostas?|gabarito|resultado|alternativa|opção)\b(?:\s+(?:final|finais|correta|corretas|certa|é\s+a\s+correta))?"
_COPULA = r"(?:\s*(?:is|are|equals?|was|should\s+be|must\s+be|would\s+be|becomes|é|são|seria|fica|vale|olarak|olur)\b)"
_ANCHOR = re.compile(
    rf"(?:(?P<en>{_EN})|(?P<tr>{_TR})|(?P<pt>{_PT})|(?P<r>(?:^|\n)\s*R)(?=\s*[:=])|(?P<hash>####)|(?P<tag><answer>))"
    rf"(?P<link>{_MARKUP}(?:\s*(?:[:=：]|\\?:){_MARKUP}|{_COPULA}\s*:?{_MARKUP}|\s*não\s+é\b)?)",
    re.IGNORECASE,
)
_TRAILING_ANCHOR = re.compile(
    r"\s*(?:is|are)\s+(?:our|the|my|your)\s+(?:final\s+|correct\s+)?(?:answer|solution|result)\b|\s*é\s+a\s+(?:nossa\s+)?resposta\b|"
    r"\s*são\s+as\s+respostas\b|\s*(?:cevaptır|yanıttır|doğru\s+cevaptır)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|isn't|aren't|não|değil|cannot|can't|never)\b", re.IGNORECASE)
_BUT = re.compile(
    r"\b(?:but|rather|instead|e\s+sim|mas\s+sim|mas|e|e,\s*sim|sondern|aksine|ama)\b[\s,:]*|,\s*", re.IGNORECASE
)
RETRACTED = re.compile(
    r"\b(?:wait|hold\s+on|scratch\s+that|(?:that|this|it)(?:\s+answer)?\s+(?:is|was|seems|looks)\s+(?:wrong|incorrect|not\s+(?:right|correct))|"
    r"that's\s+(?:wrong|incorrect|not\s+right)|i\s+made\s+(?:a|an)\s+(?:mistake|error)|correction|actually|bir\s+dakika|bekle|"
    r"bu\s+yanlış|yanlış\s+oldu|hata\s+yaptım|düzelt\w*|aslında|espere?|isso\s+está\s+errado|está\s+(?:errad[oa]|incorret[oa])|"
    r"cometi\s+um\s+erro|na\s+verdade|corrigindo|correção)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|might|could|guess|suppose|assume|let|if|try|consider|would|belki|galiba|sanırım|diyelim|"
    r"varsayalım|olabilir|eğer|talvez|suponha|supondo|seja|poderia|acho|se)\b|\?",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"\b(?:therefore|thus|hence|so|finally|in\s+conclusion|consequently|we\s+conclude|overall|in\s+total|altogether|"
    r"dolayısıyla|böylece|o\s+halde|öyleyse|sonuç\s+olarak|buna\s+göre|bu\s+durumda|demek\s+ki|bu\s+yüzden|yani|"
    r"portanto|logo|assim|então|por\s+isso|conclui-se|concluímos|finalmente|em\s+conclusão|por\s+conseguinte|aranan)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"(?:(?:['’]s|\bis|\bare|\bbe|\bequals?|gives?|yields?|get|obtain|have|has|find|found|find\s+that|é|são|vale|valem|dá|obtemos|temos|"
    r"igual\s+a|resulta\s+em|resultado|equal\s+to|gives\s+us)|[:=]|\bolarak)\s*(?:therefore|thus|then|hence|also|então|portanto|approximately|exactly|the\s+number|just|"
    r"o\s+número|that)?\s*$",
    re.IGNORECASE,
)
_TR_ENDING = re.compile(
    r"\s*(?:['’]\s?(?:d[ıiuü]r|t[ıiuü]r)|(?:\w+\s+){0,2}(?:\w*d[ıiuü]r|\w*t[ıiuü]r|olur|eder|bulunur|olmalıdır|elde\s+edilir|çıkar|vardır|kalır|dır|dir))\s*[.!]?\s*$",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[^\d\W])[.!](?=\s|$)|(?<=[\d\W])[.!](?=\s+[^\W\d_a-zçğıöşü]|\s*$)|\?(?=\s|$)|\n\s*\n")


def final_statement(text: str) -> Statement | None:
    """The value stated last in anchored words, or by a reply that is nothing else, or by its closing sentence.

    >>> final_statement("A resposta não é 5, e sim 7.").answer
    '7'
    >>> final_statement("There are 12 ways to choose the first one, and then we have to consider") is None
    True
    """
    tail = text[-_TAIL:]
    if (statement := anchored(tail)) is not None:
        return statement
    if (whole := _whole(text)) is not None:
        return Statement(whole, "whole")
    return _closing_sentence(tail)


def anchored(text: str) -> Statement | None:
    """The value after the last words that announce an answer, or before words that call it one."""
    best: tuple[int, Statement] | None = None
    for match in _ANCHOR.finditer(text):
        if (statement := _after(text, match)) is not None:
            best = (match.start(), statement)
    for match in _TRAILING_ANCHOR.finditer(text):
        start = max(text.rfind("\n", 0, match.start()), text.rfind(". ", 0, match.start())) + 1
        value = _last_value(text, start, match.start())
        if value is not None and (best is None or best[0] < match.start()) and value.end >= match.start() - 1:
            best = (match.start(), Statement(value.text, "statement"))
    if best is None:
        return None
    position, statement = best
    rest = text[position:]
    if RETRACTED.search(rest[len(statement.answer) + 10 :]) and rest.find(statement.answer) >= 0:
        after = rest[rest.find(statement.answer) + len(statement.answer) :]
        if RETRACTED.search(after[:200]):
            return None
    return statement


def _after(text: str, anchor: re.Match[str]) -> Statement | None:
    start = anchor.end()
    link = anchor["link"].strip(" *_#>`~\n\t").casefold()
    if anchor["tag"]:
        close = text.find("</answer>", start)
        content = text[start : close if close >= 0 else len(text)].strip()
        return Statement(content, "statement") if content else None
    end = _sentence_end(text, start, over_lines=not link or link[-1] in ":=")
    if not link and not anchor["hash"] and not _may_follow_directly(text, anchor):
        return None
    if "não" in link:
        return _contrary(text, start, end)
    value = first_value(text, start, end)
    phrase = text[start:end].strip(" *_.\n\t:")
    if value is None:
        return _in_words(phrase) if link else None
    lead = [fold_case(word) for word in re.findall(r"[^\W\d_]+", value.lead)]
    if _NEGATED.search(value.lead):
        return _contrary(text, value.start, end)
    if any(word in words.QUALIFIERS for word in lead) or (len(lead) > _MAX_LEAD_WORDS and link[-1:] not in (":", "=")):
        return None
    if re.match(r"\s*(?:değil)", text[value.end : value.end + 12], re.IGNORECASE) or value.text.endswith("değil"):
        return _contrary(text, value.start, end)
    return Statement(value.text, "statement", "low" if len(lead) > 4 else "none")


def _contrary(text: str, start: int, end: int) -> Statement | None:
    """`not 5 but 7`: the value after the one denied, if there is one."""
    denied = first_value(text, start, end)
    if denied is None:
        return None
    stop = start + len(text[start : denied.end])
    rest = re.compile(r"\s*(?:değil(?:dir)?)?\s*", re.IGNORECASE).match(text, stop)
    position = rest.end() if rest else stop
    but = _BUT.match(text, position)
    turkish = rest is not None and "de" in fold_case(rest[0]) or denied.text.endswith("değil")
    if but is None and not turkish:
        return None
    value = first_value(text, but.end() if but else position, end)
    return Statement(value.text, "statement", "low") if value is not None else None


def _may_follow_directly(text: str, anchor: re.Match[str]) -> bool:
    """`Answer $9$` at the start of a line, `cevap 12'dir`: a value right after the word."""
    start = anchor.start()
    line = text[text.rfind("\n", 0, start) + 1 : start].strip(" *_#>")
    following = text[anchor.end() : anchor.end() + 1]
    if anchor["tr"]:
        return True
    return not line and (following in "$\\([-" or following.isdigit() or "\n" in anchor["link"])


def _sentence_end(text: str, start: int, *, over_lines: bool) -> int:
    position = start
    while position < len(text) and over_lines and text[position] in " \n\t*":
        position += 1
    match = _SENTENCE_END.search(text, position)
    end = match.start() if match else len(text)
    # A display formula may hold blank lines and periods of its own.
    for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        at = text.find(opening, position, end)
        if 0 <= at and (close := text.find(closing, at + len(opening))) >= end:
            return close + len(closing)
    return end


def _in_words(phrase: str) -> Statement | None:
    """A short answer in words: `even`, `Sim`, `çözüm yok`."""
    phrase = re.sub(r"^(?:that|the|a|an|o|os|as)\s+(?=\w)|[*_]", "", phrase).strip(" .,:")
    phrase = words.without_suffixes(phrase.replace("’", "'"))
    return Statement(phrase, "statement", "low") if phrase and len(phrase.split()) <= 8 else None


def _last_value(text: str, start: int, end: int) -> Value | None:
    value, position = None, start
    while (found := first_value(text, position, end)) is not None:
        value, position = found, max(found.end, found.start + 1)
    return value


def _whole(text: str) -> str | None:
    """The reply itself when it is nothing but an answer."""
    plain = text.strip().strip("*").strip()
    if not plain or len(plain) > 400 or "\n\n" in plain:
        return None
    outside = re.sub(r"\$\$.+?\$\$|\$[^$]+\$|\\\(.+?\\\)|\\\[.+?\\\]", " ", plain, flags=re.DOTALL)
    if outside != plain and len(re.findall(r"\$\$?", plain)) > 4:
        return None
    outside = re.sub(r"\\[A-Za-z]+(?:\{[^{}]*\})?", " ", outside)
    prose = [
        word
        for word in re.findall(r"[^\W\d_]{2,}", outside)
        if fold_case(word) not in _NEUTRAL and words.unit_of(word) is None
    ]
    phrase = fold_case(plain.strip(" ."))
    known = phrase in words.EMPTY or phrase in words.REALS or phrase in words.FIXED or phrase in words.NUMBER_WORDS
    if known or not prose:
        return None if _HEDGED.search(outside) and not known else plain
    return None


_NEUTRAL = frozenset(
    fold_case(word)
    for group in (
        words.PERCENT,
        words.AND,
        words.OR,
        words.FUNCTIONS,
        words.CHOICE_WORDS,
        {"pi", "por", "cento", "per", "ou"},
    )
    for word in group
)


def _closing_sentence(text: str) -> Statement | None:
    """The value that the last sentence ends with, when the sentence states it and draws a conclusion."""
    stripped = text.strip()
    start, count = 0, 1
    for match in _SENTENCE_END.finditer(stripped):
        if stripped[match.end() :].strip(" \n*$"):
            start, count = match.end(), count + 1
    sentence = stripped[start:].strip()
    if len(sentence) > 600 or _HEDGED.search(re.sub(r"\$[^$]*\$", "", sentence)):
        return None
    if count > 1 and not _CONCLUDES.search(sentence):
        return None
    value = _last_value(sentence, 0, len(sentence))
    if value is None:
        return Statement(sentence, "sentence", "low") if fold_case(sentence.strip(" .")) in words.EMPTY else None
    before, after = sentence[: value.start], sentence[value.end :].strip(" .!*$\n")
    trailing = re.findall(r"[^\W\d_]+", after)
    if _NEGATED.search(sentence[max(0, value.start - 12) : value.start]) or any(
        fold_case(w) in words.QUALIFIERS for w in trailing
    ):
        return None
    if (
        _TR_ENDING.match(sentence[value.start + len(value.text) :])
        or re.search(r" \w+[dt][ıiuü]r$", value.text)
        or (_STATES.search(before) and (not trailing or (len(trailing) <= 2 and ":" in before)))
    ):
        return Statement(value.text, "sentence", "low")
    if (
        value.formula
        and not trailing
        and (re.search(r"[=<>≤≥]|\\(?:le|ge|ne|in)", value.text) or _STATES.search(before))
    ):
        return Statement(value.text, "sentence", "low")
    return None
