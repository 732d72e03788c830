"""A reply that is nothing but an answer, and the closing sentence of one that announces none."""

from __future__ import annotations

import re

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.phrases import Statement, Value, first_value, goes_on

SENTENCE_END = re.compile(
    r"(?<=[^\d\W])(?<!i\.e)(?<!e\.g)[.!](?=\s|$)|"
    r"(?<=[\d\W])[.!](?=\s+[^\W\d_a-zçğıöşü]|\s*$)|\?(?=\s|$)|\n[ \t\r]{0,20}\n"
)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|might|could|guess|suppose|assume|let|if|try|consider|assuming|would|doubt|unlikely|belki|galiba|"
    r"sanırım|diyelim|varsayalım|olabilir|eğer|talvez|suponha|supondo|seja|poderia|acho|(?<!-)se(?!\s+(?:vê|conclui|obtém|tem|segue|deduz)\b)|suponhamos|admitamos|imaginemos|digamos|duvido|so\s+far|até\s+agora|até\s+aqui|şimdiye\s+kadar|şu\s+ana\s+kadar|buraya\s+kadar|depends?\s+on|depende\s+d[eoa]|bağlıdır|cevab[ıi]n|yanıt[ıi]n)\b|\?",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"\b(?:therefore|thus|hence|so|finally|in\s+conclusion|consequently|we\s+conclude|overall|in\s+total|altogether|"
    r"dolayısıyla|böylece|o\s+halde|o\s+hâlde|öyleyse|sonuç\s+olarak|buna\s+göre|bu\s+durumda|demek\s+ki|bu\s+yüzden|yani|"
    r"bu\s+nedenle|portanto|logo|assim|então|por\s+isso|conclui-se|concluímos|finalmente|em\s+conclusão|"
    r"donde|daqui|em\s+suma|em\s+resumo|resumindo|this\s+means|(?:isto|isso)\s+significa|enfim|pelo\s+que|pois(?=,)|in\s+the\s+end|no\s+fim|no\s+total|ao\s+todo|toplamda|özetle|kısacası|in\s+summary|in\s+short|"
    r"por\s+conseguinte|aranan|istenen|it\s+follows|this\s+(?:gives|yields)|we\s+(?:get|obtain)|the\s+(?:result|solution|remainder|"
    r"value|probability|limit)(?:\s+of\s+\S{1,30})?\s+is|the\s+(?:minimum|maximum|smallest|largest|least|greatest)\s[^.,;:]{0,60}?(?<=\s)is|leaves?\s+a\s+remainder|deixa\s+(?:um\s+)?resto|buradan|daí|obtemos|"
    r"des[st][ea]\s+(?:modo|forma)|[oa]\s+(?:resultado|solução|valor|resto|probabilidade)(?:\s+d[eoa]\s+\S{1,20})?\s+é)\b|"
    r"^\W{0,6}(?:the\s+(?!first|second|third|next|other|initial|previous|original|given|question|problem|following)|"
    r"[oa]\s+(?!primeir|segund|terceir|outr|próxim|anterior|inicial))(?:\w{1,20}\s+){1,2}(?:is|equals|é|vale|mede)\b|"
    r"^\W{0,6}[oa]\s+(?:menor|maior)\s[^.,;:]{0,60}?(?<=\s)(?:é|vale)\b|"
    r"^\W{0,6}(?:são|serão)\s+(?:necessári|precis)[oa]s\b|\ben\s+(?:küçük|büyük|az|çok|fazla)\s+(?:\w+\s+){0,2}(?:değer|sayı)\w*|"
    r"^\W{0,6}(?:final\s+)?(?:result|solution|çözüm|solução|conclusion|conclusão)\s*:|\bçözüm(?:ü|leri)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"(?:(?:['’]s|\bis|\bare|\bbe|\bwas|\bwere|\bequals?|gives?|yields?|get|obtain|have|has|find|found|find\s+that|é|são|vale|valem|dá|"
    r"obtemos|temos|igual\s+a|resulta\s+em|resultado|equal\s+to|comes?\s+to|amounts?\s+to|totals|remainder\s+of|resto|obtém-se(?!\s+de\b)(?:\s+uma?\s+\w+\s+de)?|(?:sum|evaluate|simplifie|reduce)s?\s+to|adds?\s+up\s+to|somam|(?:travel|move|run|drive)s?\s+at|(?:viaja|circula|desloca-se)\s+a|gives\s+us|measures?|medem?|foi|foram|será|serão)|[:=]|\bolarak)\s*,?\s*(?:therefore|thus|then|hence|por\s+isso|"
    r"also|the\s+point|o\s+ponto|então|portanto|assim|pois|logo|o|approximately|exactly|the\s+number|just|o\s+número|that|de|a\s+total\s+of|um\s+total\s+de)?\s*,?(?:\s*de)?\s*$",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    r"(?:\b(?:there\s+(?:are|is)|ha(?:s|ve|d)|tem|têm|temos|restam|sobra(?:m|ram)|existem?|há|são(?:\s+(?:necessári|precis)[oa]s)?|toplam|that\s+makes|realiza(?:m|ram)-se|pode(?:m|mos)(?:-se)?\s+\w+(?:-se)?|vend(?:e|eu|eram)|compr(?:a|ou|aram)|receb(?:e|eu|eram)|ganh(?:a|ou|aram)|poup(?:a|ou|aram)|andou|correu|leu|fez|comeu|(?:deve|devem|terá\s+de|tem\s+de)\s+pagar|precisa(?:rá|mos)?\s+de|"
    r"gast(?:a|ou|ará)|pag(?:a|ou|ará)|custa|leva(?:rá|rão|m)?|demora(?:rá|rão|m)?|percorre(?:u|rá)?|haverá|terão)|"
    r"(?<!\bwe)(?<!\byou)(?<!\bI)\s(?:(?:will|must)\s)?(?:need(?:s|ed)?|require[sd]?|spen[dt]s?|pays?|paid|earn(?:s|ed)?|costs?|(?:takes?|took)(?:\s+(?:him|her|them|us|it))?|travel(?:s|l?ed)?|sold|sells?|"
    r"buys?|weigh(?:s|ed)?|receive[sd]?|save[sd]?|bought|walk(?:s|ed)?|runs?|ran|reads?|drives?|drove|eats?|ate|collect(?:s|ed)?|makes?|made|bakes?|baked))\s*,?\s*(?:now|still|agora|ainda|pois|portanto|assim|therefore|thus|exactly|a\s+total\s+of|only|just|in\s+total|exatamente|"
    r"ao\s+todo|um\s+total\s+de|tam\s+olarak)?\s*,?\s*$",
    re.IGNORECASE,
)
_TR_ENDING = re.compile(
    r"\s*(?:['’]\s?(?:d[ıiuü]r|t[ıiuü]r|y?[ae]\s+eşit(?:tir|\s+olur)?)|(?:(?:\w{2,}|[mghL])\s+){0,3}(?:\w*d[ıiuü]r|\w*t[ıiuü]r|olur|eder|bulunur|olmalıdır|elde\s+edilir|olduğu\s+(?:görülür|anlaşılır)|hesaplan(?:ır|mıştır)|gerçekleşir|biter|bitirir(?:ler)?|tamamlan?ır(?:lar)?|dolar|sürer|"
    r"çıkar|vardır|kalır|öder|gerekir|\w+[aeılnoöuü]b?il[ie]r))\s*[.!]?\s*$",
    re.IGNORECASE,
)
# `18 (the other root is negative)` and `18 in total` are 18.
_REMARK = re.compile(
    r"\s\((?!\s*(?:or|ou|veya|maybe|talvez|belki|mod)\b)[^()]*[^\W\d_]{3}[^()]*\)(?=[.!]?$)", re.IGNORECASE
)
_IN_ALL = re.compile(r"\s*(?:no\s+total|ao\s+todo|in\s+(?:total|all)|altogether|toplamda)(?=\W*$)", re.IGNORECASE)
_FORMULA_NEXT = re.compile(r"\s*(?:\$\$|\\\[)")
_BELOW_FORMULA = re.compile(r"(?:\$\$|\\\])[.,]?[ \t]*\n(?=[^\W\d_a-zçğıöşü])")
# One of several values, a bound or a chance is not the answer.
_ONE_OF = re.compile(
    r"\b(?:one\s+(?:of\s+the|solution|root|example|factor|case|possib\w+)|an?\s+(?:example|(?:upper|lower)\s+bound)|uma?\s+(?:solução|raiz|"
    r"exemplo|limite)|uma\s+das|um\s+dos|\w+d[ae]n\s+biri|bir\s+(?:çözüm|kök|değer|olasılık)\w*\s*$|(?:üst|alt)\s+sınır|(?:may|might|can|could)\s+be\s*$)|"
    r"\blimite\s+(?:superior|inferior)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:is|are|lies?|meet|intersect)\s+(?:located\s+)?at\s*$", re.IGNORECASE)
_TIME = re.compile(r"\b(?:at|às|saat)\s*$", re.IGNORECASE)
# `the maximum is 5 when x = 2`: where the value is taken is not the value.
_WHERE = re.compile(
    r",?\s+(?:(?:attained|achieved|reached|obtained|atingid[oa])\s+)?(?:when|where|for|at|with|quando|para|onde|com)\s+\$?\(?[A-Za-z](?:,\s?[A-Za-z]){0,3}\)?\s?(?:=|\\in|∈)(?:(?!\b(?:is|are|é|são)\b)[^.])*\.?$",
    re.IGNORECASE,
)
_SOUGHT = re.compile(r"\b(?:aranan|istenen)\s+\w+\s*$", re.IGNORECASE)
_ONLY = re.compile(
    r"\s*(?:is\s+the\s+only\s+(?:\w+\s+)?|é\s+a\s+única\s+|tek\s+)(?:solution|answer|possibility|value|solução|resposta|çözüm(?:dür)?)\W*$",
    re.IGNORECASE,
)
_AGED = re.compile(r"\s*(?:(?:years?\s+)?old|(?:anos\s+)?de\s+idade)\W*$", re.IGNORECASE)
_CORRECT = re.compile(r"\s*is\s+(?:the\s+)?(?:correct|right)(?:\s+(?:answer|option|choice))?\s*\.?\s*$", re.IGNORECASE)
_IS_WORDS = re.compile(r"\b(?:is|are|é|são)\s+((?:[^\W\d_]+\s?){1,3})\.?\s*$", re.IGNORECASE)
_HAS_NONE = re.compile(
    r"\b(?:has|have|there\s+(?:is|are)|denklemin|sistemin|eşitsizliğin|equação|sistema|inequação)\s+(no\s+(?:real\s+)?solutions?|"
    r"(?:reel\s+)?çözümü\s+yok(?:tur)?|não\s+tem\s+solução)\s*\.?\s*$",
    re.IGNORECASE,
)
_NEGATED_BEFORE = re.compile(r"(?:\b(?:not|não|never|cannot|neither|nor)\b|n['’]t\b)[^.]{0,6}$", re.IGNORECASE)
_EACH = frozenset({"per", "each", "in", "por", "cada", "ao", "no", "altogether", "toplamda"})
_NEUTRAL = frozenset(
    fold_case(word)
    for group in (words.PERCENT, words.AND, words.OR, words.FUNCTIONS, words.CHOICE_WORDS, words.PERCENT_PARTS, {"pi"})
    for word in group
)


# A quantity that is a step on the way; what the problem itself tells.
_STEP = re.compile(
    r"\b(?:denominator|numerator|discriminant|denominador|numerador|discriminante|diskriminant\w*|payda(?:sı)?)\b[^,;:]{0,40}$",
    re.IGNORECASE,
)
_COMBINED = re.compile(
    r"\b(?:sum|product|difference|soma|produto|diferença|toplam\w*|çarpım\w*|fark\w*)\b", re.IGNORECASE
)
_STEPS = frozenset(
    fold_case(word)
    for word in ("cases", "steps", "equations", "unknowns", "casos", "passos", "etapas", "equações", "durum", "adım")
)
_GIVEN = re.compile(
    r"\b(?:soruda|problemde|verilmi[şs]\w*|sorul\w+|aran(?:maktad[ıi]r|[ıi]yor)|istenmektedir|o\s+enunciado|dado\s+n[oa]|(?:are|is|was|were)\s+given|the\s+(?:question|problem)\s+"
    r"(?:says|states|gives|tells)|m[ıiuü]şt[ıiuü]r)\b|\w+(?<!bulun)(?<!edil)(?<!hesaplan)(?<!ol)(?<!kal)m[ıiuü]şt[ıiuü]r\b",
    re.IGNORECASE,
)
_GIVEN_BEFORE = re.compile(
    r"\bverilen\s+\w+\s*$|^\W{0,6}the\s+given\s+\w+\s+(?:is|are)\s*$|^\W{0,6}[oa]s?\s+\w+\s+dad[oa]s?\s+(?:é|são)\s*$",
    re.IGNORECASE,
)
_TR_WE_FIND = re.compile(r"(?:olarak\s+)?(?:elde\s+ederiz|buluruz|hesaplarız)", re.IGNORECASE)
_FOUND_COUNTS = frozenset(fold_case(word) for word in ("farklı", "kökü", "çözümü", "tane", "şekilde", "yol", "yolu"))
# An example, a check, a reminder: no conclusion.
_ASIDE = re.compile(
    r"\W{0,6}(?:(?:so|now|but|also|then)[,\s]+)?(?:for\s+(?:example|instance)|e\.g|example|hint|check|verif|proof|given\s*:|note\b|recall|"
    r"remember|substitut|taking|tak[ei]\b|choos|örne[kğ]|ipucu|kontrol|sağlama|doğrula|verilenler|not\s*:|dikkat|ispat|por\s+exemplo|"
    r"exemplo|dica|verifica|prova\b|dados\s*:|nota\b|notemos|note-se|recorde|lembre|tom(?:emos|e)\b|substitui)",
    re.IGNORECASE,
)
_KNOWN_TO = re.compile(
    r"\W{0,6}(?:we\s+(?:know|are\s+given|are\s+told)|it\s+is\s+(?:known|given)|sabemos|sabe-se|biliyoruz|é\s+dado)\b|"
    r".{0,80}\b(?:biliniyor|bilinmektedir|biliyoruz)\b",
    re.IGNORECASE,
)
_AS_WANTED = re.compile(
    r"\s+(?:for\s+all|for\s+every|para\s+todo)\s+\$?[a-z]\$?\.?$|"
    r",\s+(?:as\s+(?:required|desired|wanted|claimed|requested)|como\s+(?:pedido|pretendido|queríamos)|istendiği\s+gibi)\.?$",
    re.IGNORECASE,
)
# The place where something happens, and one of several things: neither is the value sought.
_AT = re.compile(r"\b(?:at|for|when|where|using|em|para|quando|onde|usando|fazendo|tomando)\s*$", re.IGNORECASE)
_ONE_PART = re.compile(
    r"\b(?:the\s+(?:first|second|third|other|next)|sıradaki|sonraki|ilk|birinci|ikinci|üçüncü|diğer|öteki|[oa]\s+(?:primeir|segund|terceir|outr)[oa])"
    r"\s+\w+(?:\s+(?:is|equals|é|são|mede|vale))?\s*$|\b(?:seguinte|anterior)\s+(?:é|são)\s*$",
    re.IGNORECASE,
)
# `12 çift bir sayıdır`, `12 denenirse`: something said of the number.
_TR_ABOUT = re.compile(r"[^.]*\b(?:bir\s+\w+[dt][ıiuü]r|\w+[ae]?rs[ae])\b", re.IGNORECASE)
_TO_DO = re.compile(r"\b(?:to|a|por)\s+(?:test|check|consider|try|verif|examin|analis|estudar)", re.IGNORECASE)
_LEFT = re.compile(r"\w+\s+(?:remain|remained|are\s+left|were\s+left)", re.IGNORECASE)
_RESTATED = re.compile(r",?\s+\(?(?:i\.\s?e\.|that\s+is|ou\s+seja|isto\s+é),?\s+", re.IGNORECASE)


def last_value(text: str, start: int, end: int) -> Value | None:
    """The value that stands last in `text[start:end]`."""
    value, position = None, start
    while (found := first_value(text, position, end)) is not None:
        value, position = found, max(found.end, found.start + 1)
    return value


def whole_reply(text: str) -> str | None:
    """The reply itself when it is nothing but an answer.

    >>> whole_reply("$28$ percent"), whole_reply("There are 28.")
    ('$28$ percent', None)
    """
    plain = text.strip().strip("*").strip()
    if not plain or len(plain) > 400 or "\n\n" in plain:
        return None
    outside = re.sub(r"\$\$.+?\$\$|\$[^$]+\$|\\\(.+?\\\)|\\\[.+?\\\]", " ", plain, flags=re.DOTALL)
    if outside != plain and len(re.findall(r"\$\$?", plain)) > 4:
        return None
    outside = re.sub(r"\\[A-Za-z]+(?:\{[^{}]*\})?", " ", outside)
    found = re.findall(r"[^\W\d_]{2,}", outside)
    prose = [word for word in found if fold_case(word) not in _NEUTRAL and words.unit_of(word) is None]
    phrase = fold_case(plain.strip(" ."))
    if phrase in words.EMPTY or phrase in words.REALS or phrase in words.FIXED or phrase in words.NUMBER_WORDS:
        return plain
    return None if prose or _HEDGED.search(outside) else plain


def closing_sentence(text: str) -> Statement | None:
    """The value that the last sentence ends with, when the sentence states it and draws a conclusion.

    >>> closing_sentence("We add. Thus, there are 42 such numbers.").answer
    '42'
    """
    stripped = text.strip()
    start, count = 0, 1
    for match in SENTENCE_END.finditer(stripped):
        if (
            match[0][0] == "\n"
            and _FORMULA_NEXT.match(stripped, match.end())
            and stripped[match.start() - 1] not in ".!?"
        ):
            # A displayed formula ends the sentence before it.
            continue
        if stripped[match.end() :].strip(" \n*$"):
            start, count = match.end(), count + 1
    # A sentence in words also starts on the line below a displayed formula.
    for match in _BELOW_FORMULA.finditer(stripped, start):
        start, count = match.end(), count + 1
    sentence = stripped[start:].strip()
    if _ASIDE.match(sentence) or ("," not in sentence and _KNOWN_TO.match(sentence)) or sentence.endswith(":"):
        return None
    if len(sentence) > 600 or _HEDGED.search(re.sub(r"\$[^$]*\$", "", sentence)):
        return None
    concludes = _CONCLUDES.search(sentence) is not None
    if count > 1 and not concludes:
        return None
    if (where := _WHERE.search(sentence)) and first_value(sentence, 0, where.start()) is not None:
        sentence = sentence[: where.start()] + "."
    if not concludes and _GIVEN.search(sentence):
        return None
    sentence = _REMARK.sub("", _AS_WANTED.sub(".", sentence))
    if (again := _RESTATED.search(sentence)) and _is_restated(sentence, again):
        sentence = sentence[: again.start()] + "."
    value = last_value(sentence, 0, len(sentence))
    if value is None:
        return _in_words(sentence, concludes)
    return Statement(value.text, "sentence", "low") if _is_stated(sentence, value, concludes) else None


def _is_restated(sentence: str, again: re.Match[str]) -> bool:
    """Whether nothing but a value stands on either side: `3/5, i.e. 0.6`."""
    first = last_value(sentence, 0, again.start())
    second = first_value(sentence, again.end(), len(sentence))
    if first is None or second is None or first.end < again.start():
        return False
    return not second.lead.strip(" =≈$") and not sentence[second.end :].strip(" .)*$")


def _in_words(sentence: str, concludes: bool) -> Statement | None:
    if fold_case(sentence.strip(" .")) in words.EMPTY:
        return Statement(sentence, "sentence", "low")
    if match := _HAS_NONE.search(sentence):
        return Statement(match[1], "sentence", "low")
    if (match := _IS_WORDS.search(sentence)) and not _NEGATED_BEFORE.search(sentence[: match.start(1)]):
        phrase = match[1].strip()
        if fold_case(phrase) in words.FIXED or fold_case(phrase) in words.EMPTY:
            return Statement(phrase, "sentence", "low")
        if concludes and (words.number_named(phrase) is not None or fold_case(phrase) in words.INFINITE):
            return Statement(phrase, "sentence", "low")
    return None


def _is_stated(sentence: str, value: Value, concludes: bool) -> bool:
    before, rest = sentence[: value.start], _IN_ALL.sub("", _AGED.sub("", sentence[value.end :]))
    after = rest.strip(" .!*$\n")
    trailing = [fold_case(word) for word in re.findall(r"[^\W\d_]+", after)]
    near = [fold_case(word) for word in re.findall(r"(?<![-'’])\b[^\W\d_]+", before.rpartition(",")[2]) if word != "se"]
    if concludes and not trailing and _TIME.search(before) and re.fullmatch(r"\d{1,2}:\d\d(?: \w+)?", value.text):
        return True
    if concludes and not trailing and _PLACE.search(before) and re.fullmatch(r"\$?\(.+,.+\)\$?", value.text):
        return True
    if (
        _NEGATED_BEFORE.search(before)
        or any(word in words.QUALIFIERS for word in trailing)
        or words.is_qualified(near, 3)
    ):
        return False
    if (_GIVEN_BEFORE.search(before) or not _STEPS.isdisjoint(trailing[:3])) or re.search(r"\b(?:yok|değil)", rest):
        return False
    if (step := _STEP.search(before)) and not _COMBINED.search(before, 0, step.start()):
        return False
    if goes_on(value, rest) or _ONE_OF.search(before) or re.match(r"\s+bir\s+örnek", rest, re.IGNORECASE):
        return False
    if re.fullmatch(r"\(?[A-H]\)?", value.text):
        return _CORRECT.match(rest) is not None or (_STATES.search(before) is not None and not trailing)
    # `Sınıfta 15 öğrenci vardır` may be what the problem tells; a number of roots or ways is found.
    found = concludes or "toplam" in fold_case(before) or not _FOUND_COUNTS.isdisjoint(trailing)
    if not found and re.search(r"\bvardır\W*$", rest):
        return False
    if re.match(r"\s+ile\b", rest) or _TR_ABOUT.match(rest) or _TO_DO.search(rest) or _ONE_PART.search(before):
        return False
    if _TR_ENDING.match(sentence[value.start + len(value.text) :]) or re.search(r" \w+[dt][ıiuü]r$", value.text):
        return True
    if _AT.search(before):
        return False
    if concludes and _TR_WE_FIND.fullmatch(after):
        return True
    each = bool(trailing) and trailing[0] in _EACH and len(trailing) <= 3
    if _STATES.search(before) and (not trailing or each or (len(trailing) <= 2 and ":" in before)):
        return True
    few = len(trailing) <= (5 if trailing[:1] in (["to"], ["a"], ["para"]) else 3) or (
        len(trailing) <= 6 and not {"of", "de"}.isdisjoint(trailing[1:3])
    )
    if concludes and _LEFT.fullmatch(after):
        return True
    if concludes and _COUNTS.search(before) and few and "," not in after and rest.rstrip().endswith("."):
        return True
    if (concludes and _ONLY.match(rest)) or (not trailing and _SOUGHT.search(before)):
        return True
    if trailing:
        in_all = rest != _AGED.sub("", sentence[value.end :])
        return concludes and in_all and len(trailing) == 1 and "=" in value.text
    return re.search(r"[=<>≤≥]|\\(?:le|ge|ne|in)", value.text) is not None
