"""Tokens of one formula to an expression tree, by recursive descent with bounded depth."""

from __future__ import annotations

from fractions import Fraction

from multilingual_math_audit.evaluate.answers import constructs
from multilingual_math_audit.evaluate.answers.tokens import Token, TooLarge
from multilingual_math_audit.evaluate.answers.trees import (
    MAX_DEPTH,
    MAX_NODES,
    ONE,
    Node,
    Unreadable,
    children_checked,
    negative,
    number,
    power,
    quotient,
)

_CONSTANTS = {"e": "e", "i": "i"}
_APPLIED = frozenset("fghFGHPQ")
_MAX_POSTFIX = 12


class Parser:
    """A reader of `tokens[position:end]`; brackets are matched beforehand."""

    def __init__(self, tokens: list[Token], partner: list[int], start: int, end: int) -> None:
        self.tokens, self.partner = tokens, partner
        self.position, self.end = start, end
        self.depth = self.bars = self.nodes = 0
        self.bound: list[str] = []

    def formula(self) -> Node:
        """The whole span as one formula; raises Unreadable when it is none, TooLarge beyond the limits."""
        node = self.sum()
        if self.position < self.end:
            raise Unreadable(f"{self.tokens[self.position].text!r} is out of place")
        return node

    def peek(self) -> Token | None:
        return self.tokens[self.position] if self.position < self.end else None

    def at(self, *texts: str) -> bool:
        if self.position >= self.end:
            return False
        token = self.tokens[self.position]
        return token.text in texts and (token.kind == "op" or token.kind == "cmd")

    def inside(self, start: int) -> Node:
        """The formula between the bracket at `start` and its partner, read on its own."""
        close = self.partner[start]
        saved = self.end, self.bars
        self.position, self.end, self.bars = start + 1, close, 0
        node = constructs.stacked(self) or self.formula()
        (self.end, self.bars), self.position = saved, close + 1
        return node

    def sum(self) -> Node:
        terms: list[Node] = []
        sign = ""
        while True:
            while self.at("+", "-", "±", "∓"):
                mark = self.tokens[self.position].text
                sign = (
                    {"-": "+", "+": "-"}.get(sign, mark)
                    if mark == "-" and sign in "+-" and sign
                    else mark
                    if mark != "+"
                    else sign or "+"
                )
                self.position += 1
            term = self.product()
            terms.append(_signed(term, sign))
            if not self.at("+", "-", "±", "∓"):
                break
            sign = ""
        return terms[0] if len(terms) == 1 else Node("add", children_checked(terms))

    def product(self) -> Node:
        factors = [self.signed_power()]
        while (token := self.peek()) is not None:
            if self.at("*", "/"):
                self.position += 1
                factor = self.signed_power()
                if token.text == "/":
                    if len(factors) == 1:
                        factors = [quotient(factors[0], factor)]
                        continue
                    factor = power(factor, Node("num", value=Fraction(-1)))
                factors.append(factor)
            elif self.at("bmod", "mod"):
                self.position += 1
                whole = factors[0] if len(factors) == 1 else Node("mul", children_checked(factors))
                factors = [constructs.remainder(whole, self.signed_power())]
            elif self.starts_operand(token):
                if token.kind == "num" and not self.follows_number_well():
                    raise Unreadable("a number right after another value")
                factors.append(self.signed_power())
            else:
                break
        return factors[0] if len(factors) == 1 else Node("mul", children_checked(factors))

    def follows_number_well(self) -> bool:
        before = self.tokens[self.position - 1]
        return before.kind == "close" or before.text in ("infty", "!")

    def starts_operand(self, token: Token) -> bool:
        if token.kind in ("num", "sym", "fn"):
            return True
        if token.kind == "open":
            return token.text in ("(", "[", "group", "floor", "ceil")
        if token.kind == "op":
            return token.text == "|" and not self.bars
        return token.kind == "cmd" and token.text in constructs.OPERANDS

    def signed_power(self) -> Node:
        sign = 1
        while self.at("-", "+"):
            sign = -sign if self.tokens[self.position].text == "-" else sign
            self.position += 1
        if self.at("±", "∓"):
            mark = self.tokens[self.position].text
            self.position += 1
            return Node("pm", (self.power(),), name=mark)
        node = self.power()
        return negative(node) if sign < 0 else node

    def power(self) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooLarge("too many operations")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge("nested too deep")
        node = self.postfix(self.primary())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        for _ in range(_MAX_POSTFIX):
            if self.position >= self.end or self.tokens[self.position].kind not in ("op", "cmd"):
                return node
            if self.at("!"):
                self.position += 1
                double = self.at("!")
                self.position += double
                node = Node("dfact" if double else "fact", (node,))
            elif self.at("%"):
                self.position += 1
                node = Node("pct", (node,))
            elif self.at("degree"):
                self.position += 1
                node = Node("deg", (node,))
            elif self.at("^"):
                self.position += 1
                node = self.raised(node)
            else:
                return node
        raise TooLarge("too many signs after one value")

    def raised(self, base: Node) -> Node:
        start = self.position
        if constructs.skip_degree(self):
            return Node("deg", (base,))
        self.position = start
        exponent = self.argument(signed=True)
        if self.at("^"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise TooLarge("a tower too high")
            self.position += 1
            exponent = self.raised(exponent)
            self.depth -= 1
        return power(base, exponent)

    def argument(self, *, signed: bool = False, digit: bool = False) -> Node:
        """The operand of `^`, `_`, `\\frac` or `\\sqrt`: a group or one sign; with `digit` one digit of a number."""
        token = self.peek()
        if token is None:
            raise Unreadable("an operand is missing")
        if signed and self.at("-", "+"):
            self.position += 1
            inner = self.argument()
            return negative(inner) if token.text == "-" else inner
        if token.kind == "open":
            self.enter()
            node = self.inside(self.position)
            self.depth -= 1
            return node
        if digit and token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            self.tokens[self.position] = Token("num", token.text[1:], False, Fraction(int(token.text[1:])))
            return number(int(token.text[0]))
        return self.primary()

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge("nested too deep")

    def primary(self) -> Node:
        token = self.peek()
        if token is None:
            raise Unreadable("a value is missing")
        if token.kind == "num":
            return self.numeral(token)
        if token.kind == "sym":
            return self.symbol(token)
        if token.kind == "open":
            return self.bracketed(token)
        if token.kind == "fn":
            self.position += 1
            self.enter()
            node = constructs.function(self, token.text)
            self.depth -= 1
            return node
        if token.kind == "op" and token.text == "|":
            return self.absolute()
        if token.kind == "op" and token.text == "%":
            self.position += 1
            return Node("pct", (self.primary(),))
        if token.kind == "op" and token.text in "^_":
            return constructs.choose_with_upper(self)
        if token.kind == "cmd":
            self.position += 1
            self.enter()
            node = constructs.command(self, token.text)
            self.depth -= 1
            return node
        raise Unreadable(f"{token.text!r} is no value")

    def numeral(self, token: Token) -> Node:
        self.position += 1
        if self.at("_"):
            self.position += 1
            return Node("base", (constructs.base(self),), name=token.text)
        if not token.exact or token.value is None:
            raise Unreadable("letters among digits")
        node = number(token.value, token.text if "." in token.text and "e" not in token.text else "")
        return self.mixed(node, token) or node

    def mixed(self, whole: Node, token: Token) -> Node | None:
        """`1 3/4` and `1\\frac{3}{4}`: an integer followed by a proper fraction."""
        if not token.text.isdigit() or whole.value is None:
            return None
        start = self.position
        part = constructs.proper_fraction(self)
        if part is None or part == 0:
            self.position = start
            return None
        return number(whole.value + part)

    def symbol(self, token: Token) -> Node:
        self.position += 1
        name = token.text
        while self.at("'"):
            name += "'"
            self.position += 1
        if self.at("_"):
            self.position += 1
            return constructs.subscripted(self, name)
        if name in _CONSTANTS and name not in self.bound:
            return Node("const", name=_CONSTANTS[name])
        following = self.peek()
        if following is not None and following.text == "(" and following.kind == "open" and not following.spaced:
            if name[0] in _APPLIED:
                return Node("idx", constructs.arguments(self), name=name)
            if name == "C" and (pair := constructs.pair(self)):
                return Node("fn", pair, name="binomial")
        return Node("sym", name=name)

    def bracketed(self, token: Token) -> Node:
        if token.text not in ("(", "[", "group", "floor", "ceil"):
            raise Unreadable(f"a {token.text} has no value")
        start, close = self.position, self.partner[self.position]
        if token.text == "]" or (token.text in "([" and self.tokens[close].text != {"(": ")", "[": "]"}[token.text]):
            raise Unreadable("an interval is no number")
        if token.text == "group" and close == start + 1:
            self.position = close + 1
            return constructs.choose_with_upper(self) if self.at("^", "_") else ONE
        inner, outer = start, close
        while (
            self.tokens[inner + 1].text in ("(", "group")
            and self.partner[inner + 1] == outer - 1
            and token.text in ("(", "group")
        ):
            inner, outer = inner + 1, outer - 1
        self.enter()
        node = self.inside(inner)
        self.position = close + 1
        self.depth -= 1
        if (
            self.at("_")
            and token.text in ("(", "group")
            and outer == inner + 2
            and self.tokens[inner + 1].kind == "num"
        ):
            self.position += 1
            return Node("base", (self.argument(),), name=self.tokens[inner + 1].text)
        return Node("fn", (node,), name=token.text) if token.text in ("floor", "ceil") else node

    def absolute(self) -> Node:
        self.position += 1
        self.bars += 1
        self.enter()
        node = self.sum()
        self.depth -= 1
        if not self.at("|"):
            raise Unreadable("a bar never closes")
        self.position += 1
        self.bars -= 1
        return Node("fn", (node,), name="abs")


def _signed(term: Node, sign: str) -> Node:
    if sign == "-":
        return negative(term)
    if sign in ("±", "∓"):
        return Node("pm", (term,), name=sign)
    return term


def parse(tokens: list[Token], partner: list[int], start: int, end: int) -> Node:
    r"""The tree of a span of tokens; raises Unreadable or TooLarge.

    >>> from multilingual_math_audit.evaluate.answers.brackets import partners
    >>> from multilingual_math_audit.evaluate.answers.numbers import ENGLISH
    >>> from multilingual_math_audit.evaluate.answers.tokens import tokenize
    >>> tokens = tokenize(r"\frac94 + 1", ENGLISH)
    >>> [str(node.value) for node in parse(tokens, partners(tokens), 0, len(tokens)).args]
    ['9/4', '1']
    """
    if start >= end:
        raise Unreadable("nothing to read")
    parser = Parser(list(tokens), partner, start, end)
    return constructs.stacked(parser) or parser.formula()
