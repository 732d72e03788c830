"""The words of answers in English, Turkish and Portuguese: units, connectives, functions, fixed answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from multilingual_math_audit.evaluate.answers.glyphs import fold_case

FUNCTIONS: dict[str, str] = {
    "sin": "sin", "sen": "sin", "cos": "cos", "tan": "tan", "tg": "tan", "cot": "cot", "cotg": "cot", "ctg": "cot",
    "cotan": "cot", "sec": "sec", "csc": "csc", "cosec": "csc", "cossec": "csc", "arcsin": "asin", "arcsen": "asin",
    "asin": "asin", "arccos": "acos", "acos": "acos", "arctan": "atan", "arctg": "atan", "atan": "atan",
    "arccot": "acot", "arccotg": "acot", "arcctg": "acot", "sinh": "sinh", "senh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "tgh": "tanh", "ln": "ln", "log": "log", "lg": "log", "exp": "exp", "sqrt": "sqrt", "cbrt": "cbrt",
    "max": "max", "min": "min", "gcd": "gcd", "mdc": "gcd", "ebob": "gcd", "obeb": "gcd", "lcm": "lcm", "mmc": "lcm",
    "ekok": "lcm", "okek": "lcm", "abs": "abs", "floor": "floor", "ceil": "ceil", "sgn": "sgn", "sign": "sgn",
    "binom": "binomial", "binomial": "binomial", "factorial": "factorial", "Re": "re", "Im": "im", "arg": "arg",
}  # fmt: skip

GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho varrho sigma "  # noqa: SIM905
    "tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega Pi ell hbar imath jmath "
    "partial aleph".split()
)

AND = frozenset({"and", "ve", "ile", "&"})
OR = frozenset({"or", "veya", "ou", "yada", "veyahut"})
# A lone `e` is Portuguese for "and" as well as a constant, so it is a connective only between two whole values.
PORTUGUESE_AND = "e"

PERCENT_PARTS = frozenset({"por", "per", "cento"})
PERCENT = frozenset({"percent", "pct", "percentage", "porcento", "yüzde"})
MULTIPLIERS = {
    "hundred": 2, "yüz": 2, "cem": 2, "thousand": 3, "bin": 3, "mil": 3, "million": 6,
    "milyon": 6, "milhão": 6, "milhões": 6, "billion": 9, "milyar": 9,
    "bilhão": 9, "bilhões": 9, "trillion": 12, "trilyon": 12,
}  # fmt: skip

# A word that changes what the number beside it says: such an answer is not that number.
QUALIFIERS = frozenset(
    fold_case(word)
    for word in (  # noqa: SIM905
        "not cannot değil değildir não never asla nunca except hariç exceto less more fewer fazla az mais "
        "menos least most above below altında üstünde under over between arası entre from up factorial "
        "squared cubed dozen half times kat vezes büyük büyüktür küçük küçüktür fazladır azdır çoktur maior "
        "menor superior inferior greater larger smaller buçuk yarım meio meia doubt maybe perhaps possibly "
        "belki talvez possivelmente "
        "almost nearly quase neredeyse probably likely presumably muhtemelen provavelmente herhalde galiba "
        "até abaixo acima aquém unless if eğer se lambda import exec eval print return def wrong yanlış "
        "errado errada incorreto incorreta incorrect no instead at than "
        "plus choose mais üssü artı çarpı bölü katı katıdır böleni bölenidir "
        "karesi karesidir küpü küpüdür yarısı yarısıdır karekökü kere düzine dúzia dúzias dozens halves thirds fourths "
        "fifths tenths hundredths thousandths décimos centésimos milésimos "
        "çok basamaklı haneli eksik eksiği fazlası olamaz olmaz olmamalı olsaydı bölünür "
    ).split()
)
QUALIFIERS |= {word + ending for word in QUALIFIERS for ending in ("dir", "dur", "dür", "tir", "tur", "tür")}
# After an article such a word names the one value meant: `o menor inteiro`, `en küçük sayı`, `the least value`.
_SUPERLATIVES = {
    **dict.fromkeys(("o", "a", "os", "as"), frozenset({"maior", "menor", "superior", "inferior"})),
    "the": frozenset({"least", "most", "greater", "larger", "smaller"}),
    "en": frozenset({fold_case("büyük"), fold_case("küçük")}),
}
# What a value is not when these words stand right before it: `twice 3`, `pi 3`, `equation 12`.
_TAKEN_OF = frozenset(
    fold_case(word)
    for word in (  # noqa: SIM905
        "root roots cube square sine cosine tangent logarithm power powers multiple multiples divisor divisors factor "
        "divisible double close near congruent raiz múltiplo múltiplos divisor divisores divisível dobro triplo metade "
        "próximo próxima perto quadrado cubo seno cosseno logaritmo potência fator congruente "
        "factors fatores factores raízes dígitos algarismos digits "
        "successor predecessor sucessor antecessor inverse reciprocal inverso opposite simétrico complement "
        "complementar bounded different diferente far longe number número dividing divided multiplied "
        "fifth third quarter terço quarto quinto quádruplo quíntuplo"
    ).split()
)
_TAKEN = frozenset(
    fold_case(word)
    for word in (  # noqa: SIM905
        "twice thrice double triple root near equation problem question exercise figure table theorem lemma step kök "
        "karekök küpkök denklem soru adım raiz equação problema questão exercício figura tabela passo "
        "order ordem row page chapter line column adding subtracting multiplying dividing after in with somando "
        "subtraindo multiplicando dividindo linha coluna página capítulo após"
    ).split()
)
MINUS = frozenset({"minus", "negative", "eksi"})
ROUNDED = frozenset(
    {"approximately", "about", "approx", "roughly", fold_case("yaklaşık"), "aproximadamente", "cerca", "olarak"}
)

_UNIT_GROUPS = {
    "m": "m meter meters metre metres metro metros metredir",
    "cm": "cm centimeter centimeters centimetre centimetres santimetre santim centímetro centímetros",
    "mm": "mm millimeter millimeters millimetre millimetres milimetre milímetro milímetros",
    "km": "km kilometer kilometers kilometre kilometres kilometredir quilômetro quilômetros quilómetro quilómetros",
    "dm": "dm decimeter decimeters desimetre decímetro decímetros",
    "in": "inch inches inç polegada polegadas", "ft": "ft foot feet pés", "yd": "yd yard yards", "mi": "mile miles mil",
    "s": "s sec secs second seconds saniye segundo segundos sn",
    "min": "min mins minute minutes dakika dk minuto minutos",
    "h": "h hr hrs hour hours saat sa hora horas", "day": "day days gün dia dias",
    "week": "week weeks hafta semana semanas", "month": "month months ay mês meses",
    "year": "year years yıl yaşında yaş ano anos",
    "g": "g gram grams gramme grammes grama gramas gr", "kg": "kg kilogram kilograms kilo kilos quilograma quilogramas",
    "mg": "mg milligram milligrams miligram miligrama miligramas", "t": "ton tons tonne tonnes tonelada toneladas",
    "L": "l liter liters litre litres litro litros lt",
    "mL": "ml milliliter milliliters mililitre mililitro mililitros",
    "rad": "rad radian radians radyan radiano radianos", "deg": "degree degrees derece derecedir grau graus deg °",
    "usd": "dollar dollars dolar dólar dólares usd us$ $", "eur": "euro euros avro eur €", "gbp": "pound pounds gbp £",
    "try": "tl try lira lirası liras ₺",
    "brl": "real reais brl r$",
    "cent": "cent cents kuruş centavo centavos cêntimos",
    "gal": "gallon gallons galon galões galão", "lb": "lb lbs", "oz": "oz ounce ounces", "acre": "acre acres",
    "ha": "hectare hectares hektar", "jpy": "yen yens", "inr": "rupee rupees", "penny": "penny pennies pence",
    "decade": "decade decades", "century": "century centuries yüzyıl século séculos",
    "byte": "byte bytes", "bit": "bit bits", "V": "volt volts", "ohm": "ohm ohms", "Pa": "pascal pascals",
    "N": "newton newtons", "J": "joule joules", "W": "watt watts", "Hz": "hz hertz", "mi/h": "mph", "km/h": "kmh kph",
    "unit": "unit units birim birimdir unidade unidades u br u.c.",
    "unit^2": "birimkare birimkaredir br^2 u^2 u.a. ua", "unit^3": "birimküp u.v.",
    "cm^2": "santimetrekare cm2", "m^2": "metrekare m2", "km^2": "kilometrekare km2", "cm^3": "santimetreküp cm3 cc",
    "m^3": "metreküp m3",
}  # fmt: skip
UNITS: dict[str, str] = {word: unit for unit, words in _UNIT_GROUPS.items() for word in words.split()}
UNITS.pop("mil")
# In mathematics these letters are variables; they are units only inside a text command or after a number in prose.
SHORT_UNITS = frozenset({"m", "s", "h", "g", "L"})
SQUARE = frozenset("square squared kare quadrado quadrados quadrada quadradas sq".split())  # noqa: SIM905
CUBIC = frozenset("cubic cubed küp cúbico cúbicos cúbica cúbicas".split())  # noqa: SIM905

_FIXED_GROUPS = {
    "yes": "yes evet sim", "no": "no hayır não nao", "true": "true doğru verdadeiro verdadeira correct",
    "false": "false yanlış falso falsa incorrect", "even": "even çift par", "odd": "odd tek ímpar impar",
    "positive": "positive pozitif positivo", "negative": "negative negatif negativo",
    "prime": "prime asal primo", "monday": "monday pazartesi segunda-feira",
    "tuesday": "tuesday salı terça-feira", "wednesday": "wednesday çarşamba quarta-feira",
    "thursday": "thursday perşembe quinta-feira", "friday": "friday cuma sexta-feira",
    "saturday": "saturday cumartesi sábado", "sunday": "sunday pazar domingo",
}  # fmt: skip
FIXED: dict[str, str] = {fold_case(word): name for name, words in _FIXED_GROUPS.items() for word in words.split()}

_EMPTY = (
    "no solution|no solutions|there is no solution|there are no solutions|no real solution|no real solutions|none|"
    "empty set|the empty set|does not exist|çözüm yok|çözüm yoktur|çözümü yok|çözümü yoktur|boş küme|çözümsüz|yoktur|"
    "reel çözüm yok|sem solução|não há solução|não tem solução|não existe solução|sem soluções|conjunto vazio|vazio|"
    "o conjunto vazio|nenhuma solução|no real roots"
)
EMPTY = frozenset(fold_case(phrase) for phrase in _EMPTY.split("|"))
_REALS = (
    "all real numbers|all reals|all real|the real numbers|real numbers|every real number|tüm reel sayılar|"
    "bütün reel sayılar|tüm gerçek sayılar|bütün gerçek sayılar|reel sayılar|todos os números reais|todos os reais|"
    "os números reais|números reais|any real number|reals"
)
REALS = frozenset(fold_case(phrase) for phrase in _REALS.split("|"))
INFINITE = frozenset(
    fold_case(word) for word in ("infinity", "infinite", "sonsuz", "infinito", "plus infinity", "artı sonsuz")
)

_NUMBER_WORDS = (
    "zero sıfır|one bir um uma|two iki dois duas|three üç três|four dört quatro|five beş cinco|six altı seis|"
    "seven yedi sete|eight sekiz oito|nine dokuz nove|ten on dez|eleven onbir onze|twelve oniki doze|thirteen treze|"
    "fourteen quatorze catorze|fifteen quinze|sixteen dezesseis dezasseis|seventeen dezessete dezassete|"
    "eighteen dezoito|nineteen dezenove dezanove|twenty yirmi vinte"
)
_TENS = (
    "thirty otuz trinta|forty kırk quarenta|fifty elli cinquenta|sixty altmış sessenta|seventy yetmiş setenta|"
    "eighty seksen oitenta|ninety doksan noventa|hundred yüz cem"
)
NUMBER_WORDS: dict[str, int] = {
    fold_case(word): value for value, words in enumerate(_NUMBER_WORDS.split("|")) for word in words.split()
} | {fold_case(word): 30 + 10 * tens for tens, words in enumerate(_TENS.split("|")) for word in words.split()}

# What may stand before the value inside a box or a final line without changing it.
_LABELS = (
    "answer|the answer|final answer|the final answer|ans|result|solution|total|sum|value|the value|cevap|cevabı|"
    "doğru cevap|doğru yanıt|doğru seçenek|doğru şık|nihai cevap|yanıt|nihai yanıt|sonuç|toplam|resposta|"
    "resposta final|a resposta|a resposta final|a resposta correta|resposta correta|resultado|solução|gabarito|total|"
    "option|choice|seçenek|şık|opção|alternativa|letra|alternativa correta|letter|cevap şıkkı|area|alan|área|the|is|"
    "é|conjunto solução|solution set|çözüm kümesi|item|answer is|the answer is|correct answer|the correct answer"
)
LABELS = frozenset(fold_case(label) for label in _LABELS.split("|"))
CHOICE_WORDS = frozenset(
    fold_case(word)
    for word in (  # noqa: SIM905
        "option choice seçenek seçeneği seçeneğidir şık şıkkı şıkkıdır opção alternativa letra letter item"
    ).split()
)
PLACEHOLDERS = frozenset(
    fold_case(word)
    for word in (  # noqa: SIM905
        "answer|your answer|final answer|the answer|your final answer|result|ans|cevap|cevabınız|cevabiniz|nihai cevap|"
        "sonuç|yanıt|yanıtınız|resposta|sua resposta|resposta final|a resposta|resultado|x|number|letter|solution|"
        "answer here|insert answer here|value|the final answer|valor|sayı|número|expression"
    ).split("|")
) - {"x"}  # fmt: skip


def is_qualified(parts: Sequence[str], reach: int | None = None) -> bool:
    """Whether folded words before a value change what it says; qualifiers count among the last `reach` of them.

    >>> is_qualified(["at", "least"]), is_qualified(["o", "menor", "inteiro"]), is_qualified(["a", "multiple", "of"])
    (True, False, True)
    """
    for position, word in enumerate(parts):
        if reach is not None and position < len(parts) - reach:
            continue
        before = parts[position - 1] if position else ""
        if word in QUALIFIERS and word not in _SUPERLATIVES.get(before, ()):
            return True
    if not parts:
        return False
    of = parts[-1] in ("of", "to", "by", "from", "de", "do", "da", "por", "a") and not _TAKEN_OF.isdisjoint(
        parts[-3:-1]
    )
    return of or parts[-1] in _TAKEN


_SUFFIX = re.compile(r"(?<=[\w)}\]$%°])'\s?(?:[a-zçğıöşü]{1,8})(?![\w])", re.IGNORECASE)


def without_suffixes(text: str) -> str:
    """The text without Turkish suffixes after an apostrophe.

    >>> without_suffixes("12'dir"), without_suffixes("f'(x)")
    ('12', "f'(x)")
    """
    return _SUFFIX.sub("", text) if "'" in text else text


def unit_of(words: str) -> str | None:
    """The canonical unit of a phrase; None when the words are no known unit.

    >>> unit_of("km/h") == unit_of("kilometers per hour"), unit_of("metros quadrados"), unit_of("ways")
    (True, 'm^2', None)
    """
    phrase = fold_case(words).strip(" .,;").replace(" per ", "/").replace(" por ", "/").replace("/saat", "/h")
    phrase = phrase.replace("^{2}", "^2").replace("^{3}", "^3").replace("{", "").replace("}", "")
    if phrase in _FOLDED_UNITS:
        return _FOLDED_UNITS[phrase]
    if "/" in phrase:
        parts = [unit_of(part) for part in phrase.split("/")]
        return None if None in parts else "/".join(part for part in parts if part)
    power = ""
    rest = []
    for word in re.sub(r"\s*\^\s*([23])", r" ^\1", phrase).split():
        if word in SQUARE or word == "^2":
            power = "^2"
        elif word in CUBIC or word == "^3":
            power = "^3"
        elif word not in ("de", "of", "area", "área", "alan", "volume", "hacim"):
            rest.append(word)
    base = _FOLDED_UNITS.get(" ".join(rest)) or _FOLDED_UNITS.get(_COPULA.sub("", " ".join(rest)))
    return f"{base}{power}" if base else None


def number_named(word: str) -> int | None:
    """The number that a word names, also with the Turkish ending of a sentence.

    >>> number_named("twelve"), number_named("sıfırdır"), number_named("vinte e um"), number_named("many")
    (12, 0, 21, None)
    """
    folded = fold_case(word)
    value = NUMBER_WORDS.get(folded, NUMBER_WORDS.get(_COPULA.sub("", folded)))
    if value is None and (match := _TWO_WORDS.fullmatch(folded)):
        tens, ones = NUMBER_WORDS.get(match[1], 0), number_named(match[3]) or 0
        least = 20 if match[2].strip() else 10
        if tens % 10 == 0 and least <= tens <= 90 and 0 < ones < 10:
            return tens + ones
    return value


_TWO_WORDS = re.compile(r"([^\W\d_]+)(-| | e )([^\W\d_]+)")
_COPULA = re.compile(r"(?:d|t)[iuü]r$")
_FOLDED_UNITS = {fold_case(word): unit for word, unit in UNITS.items()}
