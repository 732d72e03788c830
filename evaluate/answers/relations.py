"""Equations and inequalities: the names they give to values, and their equivalence up to a factor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from multilingual_math_audit.evaluate.answers.exact import Undefined
from multilingual_math_audit.evaluate.answers.numeric import Evaluation, Unknown, context, height
from multilingual_math_audit.evaluate.answers.scalars import scalars_equal
from multilingual_math_audit.evaluate.answers.shapes import Form
from multilingual_math_audit.evaluate.answers.trees import MINUS_ONE, Node, contains, symbols

_DECORATION = (
    "overline:",
    "bar:",
    "vec:",
    "overrightarrow:",
    "angle:",
    "triangle:",
    "measuredangle:",
    "hat:",
    "widehat:",
)
_NAME_COMMANDS = frozenset(
    "overline bar vec hat widehat overrightarrow angle triangle measuredangle Delta mathbb circ operatorname".split()  # noqa: SIM905
)


def is_name(side: Form) -> bool:
    """Whether a side of an equation only names something: `x`, `f(2)`, `|AB|`, `S_{10}`, `(x, y)`, an area."""
    letters = inside = 0
    index = False
    for token in side.tokens:
        if token.kind in ("sym", "word", "fn") or (token.kind == "cmd" and token.text in _NAME_COMMANDS):
            letters += 1
        elif token.kind == "open" and token.text in ("(", "group", "["):
            inside += 1
        elif token.kind == "close":
            inside -= 1
        elif token.kind == "num":
            if not (letters and (inside or index)):
                return False
        elif not (
            token.text in ("|", "'", "_", ":", ".")
            or token.kind == "sep"
            or (token.text in "-+^" and inside)
            or (token.kind == "rel" and inside)
        ):
            return False
        index = token.text == "_"
    return letters > 0 and not any(token.kind == "cmd" and token.text not in _NAME_COMMANDS for token in side.tokens)


def name_of(side: Form) -> str:
    """The name a side gives, without the marks that do not tell names apart."""
    texts = [token.text for token in side.tokens if token.text not in ("group", "|", ".", *_NAME_COMMANDS)]
    return "".join(texts)


def names_segment(left: Node, right: Node) -> bool:
    """Whether one is `\\overline{AB}` and the other `AB`: two names of one segment."""
    for marked, plain in ((left, right), (right, left)):
        ends = marked.name.removeprefix("bar:") if marked.op == "sym" and marked.name.startswith("bar:") else ""
        if len(ends) == 2 and ends.isalpha() and ends.isupper() and plain.op == "mul":
            return sorted(ends) == sorted(arg.name if arg.op == "sym" else "" for arg in plain.args)
    return False


def named(form: Form) -> tuple[str, Form] | None:
    """The name and the value of `x = 5` and `x \\in S`; None for every other form.

    >>> from multilingual_math_audit.evaluate.answers.forms import read
    >>> from multilingual_math_audit.evaluate.answers.numbers import ENGLISH
    >>> named(read("f(2) = 5", ENGLISH))[0]
    'f(2)'
    """
    if form.kind != "relation" or len(form.items) != 2 or form.text not in ("=", "in", "to"):
        return None
    left, right = form.items
    if is_name(left):
        return name_of(left), replace(right, tokens=())
    if form.text == "=" and is_name(right) and right.node is not None and right.node.op in ("sym", "idx"):
        return name_of(right), replace(left, tokens=())
    return None


def shortened(form: Form) -> Form | None:
    """An equation chain `x = 5 + 6 = 11` as `x = 11`, `5 + 6 = 11` as `11`; None when its parts disagree."""
    if form.kind != "relation" or set(form.text.split()) != {"="}:
        return form
    values = [item.node for item in form.items]
    constant = [node is not None and not symbols(node) and not contains(node, "idx") for node in values]
    start = 0 if constant[0] else 1
    if len(form.items) == 2 and not all(constant):
        return form
    for left, right in zip(values[start:], values[start + 1 :], strict=False):
        if left is None or right is None or not scalars_equal(left, right).equal:
            return None
    last = replace(form.items[-1], tokens=())
    return last if start == 0 else replace(form, items=(form.items[0], form.items[-1]), text="=")


def difference(form: Form) -> Node | None:
    """Left side minus right side of a relation of two expressions."""
    if len(form.items) != 2:
        return None
    left, right = form.items[0].node, form.items[1].node
    return None if left is None or right is None else Node("add", (left, Node("mul", (MINUS_ONE, right))))


def _without_quotient(form: Form) -> Node | None:
    """`y = 1/x` as `xy - 1`: no point with x = 0 is on either. None for all but a number over a polynomial."""
    for side, other in ((form.items[1].node, form.items[0].node), (form.items[0].node, form.items[1].node)):
        if side is None or other is None or side.op != "mul" or not _is_whole(other):
            continue
        factors = _factors(side)
        below = [arg.args[0] for arg in factors if arg.op == "pow" and arg.args[1] == MINUS_ONE]
        above = [arg for arg in factors if not (arg.op == "pow" and arg.args[1] == MINUS_ONE)]
        if below and all(arg.op == "num" and arg.value for arg in above) and _is_whole(*below):
            return Node("add", (Node("mul", (other, *below)), Node("mul", (MINUS_ONE, *above))))
    return None


def _factors(product: Node) -> list[Node]:
    """The factors of a product, those of products within it one by one."""
    found: list[Node] = []
    stack = [product]
    while stack:
        node = stack.pop()
        if node.op == "mul":
            stack.extend(node.args)
        else:
            found.append(node)
    return found


def _is_whole(*nodes: Node) -> bool:
    """Whether trees are polynomials, so that they have a value everywhere."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.op == "pow":
            exponent = node.args[1].value if node.args[1].op == "num" else None
            if exponent is None or exponent.denominator != 1 or (exponent < 0 and not node.args[0].value):
                return False
            stack.append(node.args[0])
        elif node.op in ("add", "mul"):
            stack.extend(node.args)
        elif node.op not in ("num", "sym"):
            return False
    return True


def relations_equal(left: Form, right: Form) -> bool:
    """Whether two relations hold for the same values because their differences are proportional.

    >>> from multilingual_math_audit.evaluate.answers.forms import read
    >>> from multilingual_math_audit.evaluate.answers.numbers import ENGLISH
    >>> relations_equal(read("y = 2x + 1", ENGLISH), read("2x - y + 1 = 0", ENGLISH))
    True
    >>> relations_equal(read("x + y < 1", ENGLISH), read("x + y > 1", ENGLISH))
    False
    """
    first, second = difference(left), difference(right)
    if first is None or second is None or symbols(first) != symbols(second):
        return False
    signs = {"<": -1, "<=": -1, ">": 1, ">=": 1}
    a, b = left.text, right.text
    if a in signs and b in signs:
        ratio = _ratio(first, second)
        return ratio is not None and len(a) == len(b) and bool(ratio * signs[a] * signs[b] > 0)
    if a == b and a in ("=", "!=") and _ratio(first, second) is not None:
        return True
    if a != "=" or b != "=":
        return False
    one, two = _without_quotient(left), _without_quotient(right)
    if one is None and two is None:
        return False
    one, two = one or first, two or second
    return _is_whole(one, two) and _ratio(one, two) is not None


def _ratio(first: Node, second: Node) -> Any:
    """The constant that the first is of the second everywhere, or None."""
    reach = height(first) + height(second)
    if reach > 1000:
        return None
    ratio: Any = None
    seen = 0
    for point in range(5):
        evaluation = Evaluation(context(60 + 2 * int(reach)), point)
        try:
            a, b = evaluation.value(first), evaluation.value(second)
        except (Undefined, ZeroDivisionError):
            continue
        except (Unknown, ValueError, OverflowError, TypeError):
            return None
        ctx = evaluation.ctx
        if abs(ctx.im(a)) > 0 or abs(ctx.im(b)) > 0:
            continue
        tiny = ctx.mpf(10) ** -(30 + int(reach))
        if abs(a) <= tiny or abs(b) <= tiny:
            return None
        if ratio is not None and abs(a / b - ratio) > tiny * abs(ratio):
            return None
        ratio = a / b
        seen += 1
    return ratio if seen >= 3 else None
