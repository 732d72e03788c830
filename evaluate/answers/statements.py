"""The final statement of a reply without a box: `the answer is 42`, `Cevap: 42`, `A resposta é 42`."""

from __future__ import annotations

import re

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.closings import SENTENCE_END, closing_sentence, last_value, whole_reply
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.phrases import Statement, Value, first_value, goes_on

_TAIL = 6_000
_MAX_LEAD_WORDS = 8
# A reply announces its answer a few times; one that does so more often is read at its end.
_MAX_ANCHORS = 30
DENIED = Statement("", "statement", "high")


_MARKUP = r"[*_#>`~\s]*"
_EN = (
    r"(?:final|correct|right|exact|numerical|numeric|corrected)?\s{0,3}\b(?:answers?|ans)\b"
    r"(?:\s+(?:to|for|of)\s+[^.:=\n]{0,60}?(?=\s*[*_:=]|\s(?:is|are|equals?|was|should|must|becomes)\b))?|\b(?:correct|right)\s+(?:option|choice|value|result)\b"
)
_TR = (
    r"\b(?:nihai|doğru|son|kesin)?\s{0,3}(?:cevap(?:lar)?(?:ı|imiz|ımız)?|cevab(?:ı|ım|ımız|ımızdır)|yanıt(?:lar)?(?:ı|ım|ımız)?|"
    r"sonuç(?!\s+olarak)(?:lar)?|sonuc(?:u|um|umuz)|doğru\s+(?:seçenek|şık))\b"
)
_PT = (
    r"\b(?:respostas?|gabarito|resultado|alternativa|opção)\b"
    r"(?:\s+(?:final|finais|correta|corretas|certa|é\s+a\s+correta))?"
)
_COPULA = r"(?:\s*(?:is|are|equals?|was|should\s+be|must\s+be|would\s+be|becomes|é|são|seria|fica|vale|olarak|olur)\b)"
# `Ans. 5`, `R. 5`, `**Answer.** $5$`: a point, and the value right behind it.
_POINT = r"\.[\s*]{1,4}(?=[$\d(−+-]|\\[(\[df])"
_ANCHOR = re.compile(
    rf"(?:(?P<en>{_EN})|(?P<tr>{_TR})|(?P<pt>{_PT})|"
    rf"(?P<r>(?:^|\n)[ \t*]{{0,8}}(?:(?:R|Resp)\.?(?=\s*[:=])|(?:R|Resp)(?={_POINT})))|"
    rf"(?P<hash>####)|(?P<tag><answer>))"
    rf"(?P<link>{_MARKUP}(?:\s*(?:[:=：→]|\\?:|(?<=\s)[-–—](?=\s)){_MARKUP}|{_POINT}|{_COPULA}\s*:?{_MARKUP}|\s*não\s+é\b)?)",
    re.IGNORECASE,
)
_TRAILING_ANCHOR = re.compile(
    r"\s{0,3}(?:is|are)\s+(?:our|the|my|your)\s+(?:final\s+|correct\s+)?(?:answer|solution|result)\b|"
    r"\s{0,3}é\s+a\s+(?:nossa\s+)?resposta\b(?!\s+(?:errad|incorret))|\s{0,3}são\s+as\s+respostas\b|\s{0,3}(?:as\s+(?:the|our|my)\s+final\s+answer|como\s+resposta\s+final)\b|\s{0,3}(?:cevaptır|yanıttır|doğru\s+cevaptır)\b",
    re.IGNORECASE,
)
# The sentence before the anchor takes it back: `I doubt the answer is 42`, `if n = 1 the answer is 42, otherwise 43`.
_NO_TURN = r"(?:(?!\b(?:but|however|mas|porém|ama|ancak|fakat)\b)[^.\n])*$"
_UNSURE = re.compile(
    r"\b(?:doubt|unlikely|not\s+sure|so\s+far|wonder|whether|(?:asks?|know)\s+if|(?:not\s+true|false)\s+that|"
    r"não\s+é\s+(?:verdade|certo)\s+que|maybe|perhaps|possibly|(?:students?|people|some|one|they|might|many|most|others)\s+(?:think|say|guess)s?|belki|"
    rf"talvez|duvido|há\s+quem\s+diga|(?:pensa|acha|julga)m?\s+que|diz\s+que|dizem\s+que|dizer\s+que|saying\s+that|até\s+agora|şimdiye\s+kadar|şüpheli)\b{_NO_TURN}|\b(?:if|eğer|se|when)\b{_NO_TURN}",
    re.IGNORECASE,
)
# Another's answer, or one given up: `the wrong answer is 42`.
_OTHERS = re.compile(
    r"\b(?:wrong|incorrect|previous|first|earlier|initial|ara|geçici|student['’]?s['’]?|yanlış|önceki|ilk)\s+(?:answer|cevap|cevab|yanıt|sonu)",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|eğer|se|suppos(?:e|ing)|assum(?:e|ing)|imagine|let's\s+say|diyelim|varsayalım|suponha|suponhamos|supondo|"
    r"supõe|admitamos|admitindo|imaginemos|digamos)"
    r"(?:,?\s+(?:that|que|ki|the|a|our|final|correct|for|the|sake|of|by|way|contradiction|argument|por|absurdo))*,?\s*$",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(r"\b(?:otherwise|else|aksi|değilse|senão|caso\s+contrário)\b", re.IGNORECASE)
_ASKS = re.compile(
    r",?\s+(?:right|isn't\s+it|não\s+é|certo)\s*\?|\s+m[ıiuü](?:dür|dir|dır|dur)?\b|\s*\?", re.IGNORECASE
)
# `cevabı 14 bulmuştum`, `14 sanıyordum`: what was thought before.
_ONCE = re.compile(
    r"\s+(?:olarak\s+)?(?:(?:bul|san|de|düşün|hesapla|yaz)m[ıiuü]şt[ıiuü][mk]|(?:san|zannet|zanned)[ıi]?yord|san[ıi](?:r|yor)|zanneder|düşün[üu](?:r|yor))",
    re.IGNORECASE,
)
# `cevap 30 bulunamaz`, `12'yi geçmez`: a verb that denies, a few words behind the value.
_TR_DENIES = re.compile(
    r"(?:['’]\s?\w{1,5})?(?:\s+(?!çünkü|zira)[^\W\d]{2,}){0,2}\s+[^\W\d]+(?:m[ae]z|m[ae]mal[ıi]|m[ıiuü]yor|m[ae]d[ıi])(?:d[ıiuü]r)?(?!\w)",
    re.IGNORECASE,
)
# `the answer is 8, but the book says 10`: another number after a contrast.
_ANOTHER = re.compile(r"\s*,?\s*\b(?:but|however|mas|porém|ama|fakat|ancak)\s+(?!not\b|não\b)[^.\n]*?\d", re.IGNORECASE)
# `the last digit of the answer is 9`, `twice the answer is 20`: something of the answer.
_OF_ANSWER = re.compile(
    r"\b(?:(?<!letter\s)(?<!value\s)(?<!number\s)of\s+(?:the|our|my)|(?:twice|half|double|thrice|triple)\s+the|"
    r"(?<!letra\s)(?<!valor\s)(?<!número\s)d[ao]s?)\s*$",
    re.IGNORECASE,
)
# `C or D`: a letter among others.
_OTHER_LETTER = re.compile(r"\)?\s*,?\s*\b(?:or|and|veya|ya\s+da|ve|ou|e)\s+\(?[A-H]\b")
_LETTER_BEFORE = re.compile(r"\b[A-H]\)?\s*,?\s*(?:or|and|veya|ya\s+da|ve|ou|e)\s*\(?$")
# `However, this counts each pair twice, so we must halve it`: the value announced is not the last word.
_AMENDED = re.compile(
    r"(?:[.;!]|\n)\s*(?:however|but|yet|no\s+entanto|porém|mas|contudo|todavia|fakat|ancak|ama|yalnız)\b[^\n]{0,160}?"
    r"\b(?:must|need|should|have\s+to|twice|halve|overcount\w*|devemos|temos\s+de|é\s+preciso|falta|duas\s+vezes|gerek\w*|"
    r"iki\s+kez|\w+m[ae]l[ıi]y[ıi]z|lazım)\b",
    re.IGNORECASE,
)
_WOULD = re.compile(r"\b(?:would|seria)\b", re.IGNORECASE)
_IF = re.compile(r"\b(?:if|se|eğer)\b[^.\n]*$", re.IGNORECASE)
_FOR_EXAMPLE = re.compile(
    r"\b(?:e\.\s?g\.?|for\s+(?:example|instance)|such\s+as|örneğin|mesela|por\s+exemplo)\W*$", re.IGNORECASE
)
_ENDING_IN = re.compile(r"\bem\s*[*$(]*$", re.IGNORECASE)
_OWNED = re.compile(r"n[ıiuü]n\s*$", re.IGNORECASE)
_EITHER = re.compile(r"(?:^|[.\n]\s*)(?:either|ya|ou)\b\s*(?:the\s*|a\s*)?$", re.IGNORECASE)
_TAKEN_BEFORE = re.compile(r"\b(?:of|than|after|before|d[eao]|que)\s*$", re.IGNORECASE)
_NEITHER = re.compile(r"\b(?:ne|neither|nem)\s*$", re.IGNORECASE)
_NEARLY = re.compile(
    r"\b(?:at\s+(?:least|most)|no\s+m[ií]nimo|no\s+máximo|pelo\s+menos|quando\s+muito|en\s+(?:az|çok|fazla)|almost|nearly|"
    r"quase|neredeyse|hemen\s+hemen)\s*,?\s*(?:de\s+)?[*$(]*$",
    re.IGNORECASE,
)
# A text that stops in the middle of the sentence with the value.
_DANGLES = re.compile(
    r"\s(?:and|but|or|the|of|which|that|because|since|with|ve|veya|ama|fakat|çünkü|ile|mas|ou|que|porque|com)\s*$",
    re.IGNORECASE,
)
# `1/2 of the area`: a part of something that is not told.
_PART_OF = re.compile(
    r"\s+(?:of|d[aeo]s?)\s+(?:(?:the|this|that|its|a|o)\s+)?(?:area|value|number|sum|product|length|volume|price|answer|result|"
    r"square|circle|área|valor|número|soma|produto|comprimento|preço|resposta|resultado|quadrado|círculo)\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"\$?(?:\d+/\d+|\\[dt]?frac\s?\{\d+\}\{\d+\}|\\[dt]?frac\s?\d\d)\$?")
_NEGATED = re.compile(r"\b(?:not|isn't|aren't|não|değil|cannot|can't|never)\b", re.IGNORECASE)
_BUT = re.compile(
    r"\b(?:but|rather|instead|e\s+sim|mas\s+sim|mas|e|e,\s*sim|sondern|aksine|ama)\b[\s,:]*|,\s*", re.IGNORECASE
)
_CONTRAST = re.compile(r"\b(?:but|rather|instead|mas|e\s+sim)\b[\s,:]*", re.IGNORECASE)
_NO_VALUE_AFTER = re.compile(
    r"\s*(?:to|until|through|até)\s+[\d$-]|\.\s+(?:seçene|şık|soru|adım|asal|eleman|madde|sıra|terim|basamak|satır|sütun|kişi|gün)",
    re.IGNORECASE,
)
_BOUND = re.compile(r"[^\s>#*][ \t]*>[ \t]*$")
_WITH_REASON = re.compile(r"([^\W\d_]+),?\s+(?:because|since|as|çünkü|zira|pois|porque|já\s+que)\b", re.IGNORECASE)
_DENYING = frozenset(
    fold_case(word)
    for word in (  # noqa: SIM905
        "wrong incorrect anything supposed thought believed claimed said yanlış errada errado incorreta"
    ).split()
)
_CLAUSE = re.compile(r"[,:=]|\b(?:is|are|equals|é|são)\b", re.IGNORECASE)
# A sign or a letter right before a number makes it a part of something else.
_GLUED = re.compile(r"[^\W_]$|[/^]$|[\w)\]]\*$|[<>≤≥≠⩽⩾]\s*$")
# `17'nin katı`, `8'den büyük`: something of the number, not the number; `12'ye eşittir` is the number.
_OF_IT = re.compile(
    r"\d['’]\s?(?:n?[ıiuü]n\s+|[dt][ae]n\s+|y?[ae]\s+(?!eşit)|y?[ıiuü]\s+)(?=[^\W\d_])|\d['’]\s?(?:s[ıiuü](?:d[ıiuü]r)?(?!\w)|[ıiuü]?nc[ıiuü])",
    re.IGNORECASE,
)
_OR_ELSE = re.compile(
    r"\s*olabilir[^.\n]{0,40}?\b(?:ya\s+da|veya)\b|[\s,]*\b(?:or|ou)\s+(?:maybe|perhaps|possibly|it|could|might|talvez|pode|poderia)\b",
    re.IGNORECASE,
)
RETRACTED = re.compile(
    r"\b(?:wait|oh,?\s+no|hold\s+on|scratch\s+that|on\s+second\s+thought|i\s+forgot|oops|(?:that|this|it)(?:\s+answer)?\s+(?:is|was|seems|looks)\s+(?:wrong|incorrect|not\s+(?:right|correct))|"
    r"that's\s+(?:wrong|incorrect|not\s+right)|i\s+give\s+up|something\s+is\s+(?:off|wrong)|desisto|pes\s+ediyorum|i\s+made\s+(?:a|an)\s+(?:mistake|error)|correction|actually|bir\s+dakika|bekle|"
    r"bu\s+yanlış|yanlış\s+oldu|hata\s+yaptım|düzelt\w*|aslında|espere?|isso\s+está\s+errado|está\s+(?:errad[oa]|incorret[oa])|"
    r"cometi\s+um\s+erro|na\s+verdade|corrigindo|correção|pensando\s+melhor|esqueci|unut(?:tum|muşum))\b",
    re.IGNORECASE,
)


def final_statement(text: str) -> Statement | None:
    """The value stated last in anchored words, or by a reply that is nothing else, or by its closing sentence.

    >>> final_statement("A resposta não é 5, e sim 7.").answer
    '7'
    >>> final_statement("There are 12 ways to choose the first one, and then we have to consider") is None
    True
    """
    tail = text[-_TAIL:]
    if (statement := anchored(tail)) is not None:
        return statement if statement.answer else None
    if (whole := whole_reply(text)) is not None:
        return Statement(whole, "whole")
    return closing_sentence(tail)


def anchored(text: str) -> Statement | None:
    """The value after the last words that announce an answer, or before words that call it one.

    None when nothing announces an answer; a statement without an answer when what was announced is denied, bounded,
    asked or taken back.
    """
    best: tuple[int, Statement] | None = None
    for match in list(_ANCHOR.finditer(text))[: -_MAX_ANCHORS - 1 : -1]:
        if (statement := _after(text, match)) is not None:
            best = (match.start(), statement)
            break
    for match in list(_TRAILING_ANCHOR.finditer(text))[-_MAX_ANCHORS:]:
        start = max(text.rfind("\n", 0, match.start()), text.rfind(". ", 0, match.start())) + 1
        value = last_value(text, start, match.start())
        if value is not None and _is_part(text[start : value.start]):
            continue
        if value is not None and (best is None or best[0] < match.start()) and value.end >= match.start() - 1:
            best = (match.start(), Statement(value.text, "statement"))
    if best is None or not best[1].answer:
        return best[1] if best else None
    position, statement = best
    found = text.find(statement.answer, position)
    after = found + len(statement.answer)
    return DENIED if found >= 0 and RETRACTED.search(text, after, after + 200) else statement


def _after(text: str, anchor: re.Match[str]) -> Statement | None:
    """What one anchor announces: a statement, DENIED, or None when it announces nothing."""
    start = anchor.end()
    link = anchor["link"].strip(" *_#>`~\n\t").casefold()
    if anchor["tag"]:
        close = text.find("</answer>", start)
        content = text[start : close if close >= 0 else len(text)].strip()
        return Statement(content, "statement") if content else None
    end = _sentence_end(text, start, over_lines=not link or link[-1] in ":=-")
    if link == "." and text[text.rfind("\n", 0, anchor.start()) + 1 : anchor.start()].strip(" *_#>"):
        return None
    if not link and not anchor["hash"] and not _may_follow_directly(text, anchor):
        return None
    if "não" in link:
        return _contrary(text, start, end)
    if link and (reasoned := _WITH_REASON.match(text, start, end)) and _is_verdict(reasoned[1]):
        return Statement(reasoned[1], "statement", "low")
    value = first_value(text, start, end)
    if value is None:
        phrase = text[start:end].strip(" *_.\n\t:")
        plain = words.number_named(phrase) is not None or words.FIXED.get(fold_case(phrase)) in ("yes", "no")
        return _in_words(phrase) if link or plain else None
    lead = [fold_case(word) for word in re.findall(r"[^\W\d_]+", value.lead)]
    rest = text[value.end : value.end + 16]
    if _NEGATED.search(value.lead):
        return _contrary(text, value.start, end)
    if re.match(r"\s*değil", rest, re.IGNORECASE) or value.text.endswith("değil"):
        return _contrary(text, value.start, end)
    last = text[value.end : end].strip(" .!*$") == ""
    if last and _last_clause(value.lead) == ["menos"] and value.text[:1].isdigit():
        return Statement(f"-({value.text})", "statement", "low")
    if (
        words.is_qualified(_last_clause(value.lead))
        or any(word in _DENYING for word in lead)
        or _GLUED.search(value.lead)
        or _BOUND.search(anchor["link"])
        or _ASKS.match(rest)
        or _NO_VALUE_AFTER.match(rest)
        or goes_on(value, text[value.end : end])
        or _OF_IT.search(text, value.start, min(end, value.end + 40))
        or _ONCE.match(text, value.end, end)
        or _TR_DENIES.match(text, value.start + len(value.text), end)
        or _ANOTHER.match(text, value.end, end)
        or _NEITHER.search(value.lead)
        or _FOR_EXAMPLE.search(value.lead)
        or _ENDING_IN.search(value.lead)
        or (not link and anchor["tr"] and _OWNED.search(value.lead))
        or _AMENDED.search(text, value.end, value.end + 240)
        or _is_one_letter(text, value)
        or (_WOULD.search(anchor["link"]) and _IF.search(text, max(0, anchor.start() - 120), anchor.start()))
        or (link[-1:] not in (":", "=") and _OF_ANSWER.search(text, max(0, anchor.start() - 30), anchor.start()))
        or _NEARLY.search(value.lead)
        or (end == len(text) and _DANGLES.search(text, value.end))
        or (_FRACTION.fullmatch(value.text) and _PART_OF.match(text, value.end, end))
        or _OR_ELSE.match(text, value.end, end)
        or _is_unsure(text, anchor, end)
    ):
        return DENIED
    if len(lead) > _MAX_LEAD_WORDS and link[-1:] not in (":", "="):
        return None
    shown = value.text
    if lead and value.lead.endswith(" "):
        if lead[-1] in words.MINUS:
            shown = f"-({shown})"
        elif lead[-1] in words.CHOICE_WORDS and re.fullmatch("[a-h]", shown):
            shown = shown.upper()
    return Statement(shown, "statement", "low" if len(lead) > 4 else "none")


def _is_one_letter(text: str, value: Value) -> bool:
    """Whether a letter stands beside others: `C or D`."""
    if re.fullmatch(r"\(?[A-H]\)?.{0,20}", value.text) is None:
        return False
    after = value.start + len(value.text.split()[0])
    return _OTHER_LETTER.match(text, after) is not None or _LETTER_BEFORE.search(value.lead) is not None


def _is_part(before: str) -> bool:
    """Whether the words before a value make it a part of what is called the answer: `the number after 24`."""
    return words.is_qualified(_last_clause(before)) or _TAKEN_BEFORE.search(before) is not None


def _last_clause(lead: str) -> list[str]:
    """The folded words that stand right before a value, back to the last comma, colon or verb."""
    return [fold_case(word) for word in re.findall(r"(?<!['’])\b[^\W\d_]+", _CLAUSE.split(lead)[-1])]


def _is_unsure(text: str, anchor: re.Match[str], end: int) -> bool:
    if _OTHERS.search(text, max(0, anchor.start() - 20), anchor.end()):
        return True
    if _SUPPOSED.search(text, max(0, anchor.start() - 40), anchor.start()):
        return True
    if _EITHER.search(text, max(0, anchor.start() - 20), anchor.start()):
        return True
    match = _UNSURE.search(text, max(0, anchor.start() - 80), anchor.start())
    if match is None:
        return False
    conditional = match[0][:3].casefold() in ("if ", "eğe", "se ", "whe") and match[0][:4].casefold() != "whet"
    return not conditional or _OTHERWISE.search(text, anchor.end(), end) is not None


def _contrary(text: str, start: int, end: int) -> Statement:
    """`not 5 but 7`: the value after the one denied; DENIED when there is none."""
    denied = first_value(text, start, end)
    if denied is None:
        return DENIED
    rest = re.compile(r"\s*(?:değil(?:dir)?)?\s*", re.IGNORECASE).match(text, denied.end)
    position = rest.end() if rest else denied.end
    but = _BUT.match(text, position) or _CONTRAST.search(text, position, end)
    turkish = denied.text.endswith("değil") or (rest is not None and "de" in fold_case(rest[0]))
    if but is None and not turkish:
        return DENIED
    value = first_value(text, but.end() if but else position, end)
    return Statement(value.text, "statement", "low") if value is not None else DENIED


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
    match = SENTENCE_END.search(text, position)
    end = match.start() if match else len(text)
    # A display formula may hold blank lines and periods of its own.
    for opening, closing in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        at = text.find(opening, position, end)
        if at >= 0 and (close := text.find(closing, at + len(opening))) >= end:
            return close + len(closing)
    return end


def _is_verdict(word: str) -> bool:
    return words.FIXED.get(fold_case(word)) in ("yes", "no", "true", "false")


def _in_words(phrase: str) -> Statement | None:
    """A short answer in words: `even`, `Sim`, `çözüm yok`."""
    phrase = re.sub(r"^(?:that|the|a|an|o|os|as)\s+(?=\w)|[*_]", "", phrase).strip(" .,:")
    phrase = words.without_suffixes(phrase.replace("’", "'"))
    return Statement(phrase, "statement", "low") if phrase and len(phrase.split()) <= 8 else None
