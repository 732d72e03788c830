"""The commands and functions of a formula: fractions, radicals, logarithms, sums, decorated names."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from multilingual_math_audit.evaluate.answers import words
from multilingual_math_audit.evaluate.answers.glyphs import fold_case
from multilingual_math_audit.evaluate.answers.trees import INFINITY, ONE, TWO, Node, Unreadable, number, power, quotient

if TYPE_CHECKING:
    from multilingual_math_audit.evaluate.answers.parser import Parser

_FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac", "xfrac"})
_BINOMIALS = frozenset({"binom", "dbinom", "tbinom"})
_NAMES = frozenset(
    "overline bar vec hat widehat overrightarrow tilde widetilde dot ddot overbar angle triangle measuredangle Delta "  # noqa: SIM905
    "nabla odot".split()
)
_SAME_MARK = {"overline": "bar", "overbar": "bar", "overrightarrow": "vec", "widehat": "hat", "widetilde": "tilde"}
_BIG = frozenset({"sum", "prod", "int", "lim"})
OPERANDS = _FRACTIONS | _BINOMIALS | _NAMES | _BIG | {"sqrt", "surd", "infty", "pi"}
_INVERSES = {"sin": "asin", "cos": "acos", "tan": "atan", "cot": "acot"}


def command(parser: Parser, name: str) -> Node:
    """The value of a command whose word was just read; raises Unreadable for one without a value."""
    if name in _FRACTIONS:
        top = parser.argument(digit=True)
        return quotient(top, parser.argument(digit=True))
    if name in _BINOMIALS:
        top = parser.argument(digit=True)
        return Node("fn", (top, parser.argument(digit=True)), name="binomial")
    if name == "sqrt":
        return _radical(parser)
    if name == "surd":
        return Node("root", (parser.argument(), TWO))
    if name == "infty":
        return INFINITY
    if name == "pi":
        return Node("const", name="pi")
    if name in _NAMES:
        return _decorated(parser, name)
    if name in ("sum", "prod"):
        return _big(parser, name)
    if name == "int":
        return _integral(parser)
    if name == "lim":
        return _limit(parser)
    raise Unreadable(f"\\{name} has no value")


def _radical(parser: Parser) -> Node:
    index: Node = TWO
    token = parser.peek()
    if token is not None and token.text == "[" and token.kind == "open":
        index = parser.inside(parser.position)
        if parser.at("surd"):
            parser.position += 1
    return Node("root", (parser.argument(), index))


def _decorated(parser: Parser, name: str) -> Node:
    """`\\overline{AB}`, `\\angle ABC`: a name made of letters."""
    token = parser.peek()
    if token is not None and token.text == "group" and token.kind == "open":
        close = parser.partner[parser.position]
        inner = parser.tokens[parser.position + 1 : close]
        parser.position = close + 1
    else:
        start = parser.position
        while (token := parser.peek()) is not None and token.kind in ("sym", "word"):
            parser.position += 1
            if name not in ("angle", "triangle", "measuredangle"):
                break
        inner = parser.tokens[start : parser.position]
    if not inner or any(token.kind == "num" for token in inner):
        raise Unreadable("a mark over nothing")
    return Node("sym", name=_SAME_MARK.get(name, name) + ":" + "".join(token.text for token in inner))


def function(parser: Parser, name: str) -> Node:
    """A function whose name was just read, with its power, base and argument."""
    exponent: Node | None = None
    base: Node | None = None
    for _ in range(2):
        if parser.at("^"):
            parser.position += 1
            exponent = parser.argument(signed=True)
        elif parser.at("_"):
            parser.position += 1
            base = parser.argument()
    if name == "sqrt" or name == "cbrt":
        node = Node("root", (parser.argument(), TWO if name == "sqrt" else number(3)))
    elif name in ("binomial", "gcd", "lcm", "max", "min"):
        node = Node("fn", arguments(parser), name=name)
    else:
        argument = _function_argument(parser)
        if exponent is not None and exponent.value == -1 and name in _INVERSES:
            return Node("fn", (argument,), name=_INVERSES[name])
        node = _applied(name, argument, base)
    return node if exponent is None else power(node, exponent)


def _applied(name: str, argument: Node, base: Node | None) -> Node:
    if name == "exp":
        return power(Node("const", name="e"), argument)
    if name == "factorial":
        return Node("fact", (argument,))
    if name == "log" and base is not None:
        return Node("fn", (argument, base), name="log")
    if base is not None:
        raise Unreadable(f"{name} with a subscript")
    return Node("fn", (argument,), name=name)


def _function_argument(parser: Parser) -> Node:
    token = parser.peek()
    if token is None:
        raise Unreadable("a function of nothing")
    if token.kind == "open" and token.text in ("(", "[", "group"):
        return parser.argument()
    if token.kind == "op" and token.text == "-":
        parser.position += 1
        return Node("mul", (number(-1), _function_argument(parser)))
    factors = [parser.power()]
    while (token := parser.peek()) is not None and token.kind in ("num", "sym", "cmd", "open"):
        if token.kind == "open" and token.text != "group":
            break
        if not parser.starts_operand(token) or (token.kind == "cmd" and token.text in _BIG) or token.kind == "num":
            break
        factors.append(parser.power())
    node = factors[0] if len(factors) == 1 else Node("mul", tuple(factors))
    # `sin π/6` means the sine of a sixth of pi.
    if node.op == "const" and node.name == "pi" and parser.at("/"):
        parser.position += 1
        return quotient(node, parser.power())
    return node


def arguments(parser: Parser) -> tuple[Node, ...]:
    """The values between the bracket at hand and its partner, separated by commas or semicolons."""
    token = parser.peek()
    if token is None or token.kind != "open":
        raise Unreadable("a list of arguments is missing")
    start, close = parser.position, parser.partner[parser.position]
    values = []
    saved = parser.end
    parser.position = start + 1
    while parser.position <= close:
        stop = parser.position
        while stop < close and not (parser.tokens[stop].kind == "sep" and parser.tokens[stop].text in ",;"):
            stop = parser.partner[stop] + 1 if parser.tokens[stop].kind == "open" else stop + 1
        parser.end = stop
        parser.enter()
        values.append(parser.formula())
        parser.depth -= 1
        parser.position = stop + 1
    parser.end, parser.position = saved, close + 1
    return tuple(values)


def pair(parser: Parser) -> tuple[Node, ...] | None:
    """Two values in the bracket at hand, or None without moving on."""
    start = parser.position
    close = parser.partner[start]
    if any(token.kind == "sep" and token.text in ",;" for token in parser.tokens[start:close]):
        values = arguments(parser)
        if len(values) == 2:
            return values
        parser.position = start
    return None


def subscripted(parser: Parser, name: str) -> Node:
    """`x_1`, `F_{n-k}`, `V_{max}`, `C_{10}^{3}`: a name with an index."""
    token = parser.peek()
    if token is None:
        raise Unreadable("an index is missing")
    start = parser.position
    close = parser.partner[start] if token.kind == "open" else start
    inner = parser.tokens[start + 1 : close] if token.kind == "open" else [token]
    if any(part.kind in ("word", "sep") for part in inner):
        parser.position = close + 1
        return Node("sym", name=f"{name}_{''.join(part.text for part in inner)}")
    index = parser.argument()
    if name == "C" and parser.at("^") and index.op == "num":
        parser.position += 1
        return Node("fn", (index, parser.argument()), name="binomial")
    following = parser.peek()
    if following is not None and following.text == "(" and not following.spaced and name in "fghFGHPQ":
        return Node("idx", (index, *arguments(parser)), name=name + "_")
    return Node("idx", (index,), name=name)


def base(parser: Parser) -> Node:
    """The base of a numeral, also as a word: `101_{\\text{two}}`."""
    start = parser.position
    inner = parser.tokens[start + 1 : start + 3]
    if len(inner) == 2 and inner[0].kind == "word" and inner[1].kind == "close":
        value = words.NUMBER_WORDS.get(fold_case(inner[0].text))
        if value is not None:
            parser.position = start + 3
            return number(value)
    return parser.argument()


def choose_with_upper(parser: Parser) -> Node:
    """`^{10}C_3` and `^{10}A_3`: combinations and arrangements as written in Portugal."""
    parser.position += 1
    upper = parser.argument()
    token = parser.peek()
    if token is None or token.kind != "sym" or token.text not in "CAP":
        raise Unreadable("a power of nothing")
    parser.position += 1
    if not parser.at("_"):
        raise Unreadable("a power of nothing")
    parser.position += 1
    lower = parser.argument()
    chosen = Node("fn", (upper, lower), name="binomial")
    return chosen if token.text == "C" else Node("mul", (chosen, Node("fact", (lower,))))


def stacked(parser: Parser) -> Node | None:
    """`{a \\over b}` and `{n \\choose k}`, or None without moving on."""
    position = parser.position
    while position < parser.end:
        token = parser.tokens[position]
        if token.kind == "cmd" and token.text in ("over", "choose"):
            end = parser.end
            parser.end = position
            top = parser.formula()
            parser.position, parser.end = position + 1, end
            bottom = parser.formula()
            return quotient(top, bottom) if token.text == "over" else Node("fn", (top, bottom), name="binomial")
        position = parser.partner[position] + 1 if token.kind == "open" else position + 1
    return None


def remainder(value: Node, modulus: Node) -> Node:
    """`a \\bmod m`: what is left of a after the whole multiples of m."""
    whole = Node("fn", (quotient(value, modulus),), name="floor")
    return Node("add", (value, Node("mul", (number(-1), modulus, whole))))


def skip_degree(parser: Parser) -> bool:
    """Whether a degree sign follows the `^`, which is then read."""
    token = parser.peek()
    if token is None:
        return False
    if token.kind == "open" and token.text == "group" and parser.partner[parser.position] == parser.position + 2:
        inner = parser.tokens[parser.position + 1]
        if inner.text in ("circ", "degree", "o") and inner.kind in ("cmd", "word"):
            parser.position += 3
            return True
        return False
    if token.kind == "cmd" and token.text in ("circ", "degree"):
        parser.position += 1
        return True
    return False


def proper_fraction(parser: Parser) -> Fraction | None:
    """The value of a proper fraction of plain integers that follows, or None."""
    token = parser.peek()
    if token is None:
        return None
    if token.kind == "cmd" and token.text in _FRACTIONS:
        parser.position += 1
        saved = parser.tokens[parser.position : parser.position + 1]
        at = parser.position
        try:
            top, bottom = parser.argument(digit=True), parser.argument(digit=True)
        except Unreadable:
            top = bottom = ONE
        if top.op == bottom.op == "num" and top.value is not None and bottom.value and 0 < top.value < bottom.value:
            plain = top.value.denominator == bottom.value.denominator == 1 and not top.name and not bottom.name
            return top.value / bottom.value if plain else None
        parser.tokens[at : at + 1] = saved
        return None
    tokens = parser.tokens[parser.position : min(parser.position + 4, parser.end)]
    if len(tokens) >= 3 and token.kind == tokens[2].kind == "num" and token.spaced and tokens[1].text == "/":
        top_value, bottom_value = token.value, tokens[2].value
        if (
            top_value
            and bottom_value
            and token.text.isdigit()
            and tokens[2].text.isdigit()
            and top_value < bottom_value
        ):
            parser.position += 3
            return top_value / bottom_value
    return None


def _big(parser: Parser, name: str) -> Node:
    lower = upper = None
    variable = ""
    for _ in range(2):
        if parser.at("_"):
            parser.position += 1
            variable, lower = _binding(parser)
        elif parser.at("^"):
            parser.position += 1
            upper = parser.argument(signed=True)
    if lower is None or upper is None:
        raise Unreadable("a sum without bounds")
    parser.bound.append(variable)
    body = parser.product()
    parser.bound.pop()
    return Node("sum" if name == "sum" else "prod", (body, lower, upper), name=variable)


def _binding(parser: Parser) -> tuple[str, Node]:
    """`{k=0}` or `{x \\to 0}`: the bound variable and its first value or limit."""
    start = parser.position
    token = parser.peek()
    if token is None or token.kind != "open" or token.text != "group":
        raise Unreadable("a sum without a variable")
    close = parser.partner[start]
    inner = parser.tokens[start + 1 : close]
    if len(inner) < 3 or inner[0].kind != "sym" or inner[1].kind != "rel" or inner[1].text not in ("=", "to"):
        raise Unreadable("a sum without a variable")
    saved = parser.end
    parser.position, parser.end = start + 3, close
    value = parser.formula()
    parser.position, parser.end = close + 1, saved
    return inner[0].text, value


def _integral(parser: Parser) -> Node:
    lower = upper = None
    for _ in range(2):
        if parser.at("_"):
            parser.position += 1
            lower = parser.argument(signed=True)
        elif parser.at("^"):
            parser.position += 1
            upper = parser.argument(signed=True)
    position = parser.position
    while position + 1 < parser.end:
        token, after = parser.tokens[position], parser.tokens[position + 1]
        if token.kind == "sym" and token.text == "d" and after.kind == "sym" and not after.spaced:
            break
        position = parser.partner[position] + 1 if token.kind == "open" else position + 1
    if lower is None or upper is None or position + 1 >= parser.end:
        raise Unreadable("an integral without bounds")
    variable = parser.tokens[position + 1].text
    saved = parser.end
    parser.end = position
    body = ONE if parser.position == position else parser.formula()
    parser.end, parser.position = saved, position + 2
    return Node("int", (body, lower, upper), name=variable)


def _limit(parser: Parser) -> Node:
    if not parser.at("_"):
        raise Unreadable("a limit without a point")
    parser.position += 1
    variable, point = _binding(parser)
    return Node("lim", (parser.product(), point), name=variable)
