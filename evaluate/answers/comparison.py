"""Two forms compared: values, percentages and units, lists in and out of order, sets, relations, words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from multilingual_math_audit.evaluate.answers.realsets import is_set, sets_equal
from multilingual_math_audit.evaluate.answers.relations import named, names_segment, relations_equal, shortened
from multilingual_math_audit.evaluate.answers.scalars import Verdict, infinite, scalars_equal
from multilingual_math_audit.evaluate.answers.shapes import Form, ratio_value
from multilingual_math_audit.evaluate.answers.trees import Node, Unreadable, contains, negative, number, symbols

_SOFT_UNITS = frozenset({"unit", "unit^2", "unit^3", None})
_MAX_MATCHED = 80
# `y = x^2` and `f(x) = x^2` describe one curve.
_GRAPHS = tuple({"y", f"{name}(x)"} for name in "fghy")
NO = Verdict(False, "form")


@dataclass(frozen=True, slots=True)
class Rules:
    """What a problem says about its answer: its kind, and whether the order of its parts matters."""

    answer_kind: str | None = None
    ordered: bool | None = None


def forms_equal(key: Form, answer: Form, rules: Rules) -> Verdict:
    """Whether two forms say the same; raises Unreadable where that cannot be told."""
    if _is_bare(key) and _is_bare(answer):
        return _scalars(key, answer)
    key, answer = _plain(key), _plain(answer)
    if "choice" in (key.kind, answer.kind):
        return _choices(key, answer, rules)
    related = _relations(key, answer, rules) if "relation" in (key.kind, answer.kind) else None
    if related is not None:
        return related
    if key.kind == answer.kind == "scalar":
        return _scalars(key, answer)
    if "ratio" in (key.kind, answer.kind):
        return _ratios(key, answer)
    if "matrix" in (key.kind, answer.kind):
        return _matrices(key, answer, rules)
    if "text" in (key.kind, answer.kind):
        return Verdict(key.kind == answer.kind and key.text == answer.text, "text")
    if "empty" in (key.kind, answer.kind):
        return Verdict(key.kind == answer.kind, "set")
    if (verdict := _collections(key, answer, rules)).equal:
        return verdict
    if (is_set(key) and is_set(answer)) or _is_finite_set_pair(key, answer):
        if {key.kind, answer.kind} <= {"group", "list"} and (_are_points(key) or _are_points(answer)):
            return verdict
        return Verdict(sets_equal(key, answer), "set")
    return verdict


def _is_bare(form: Form) -> bool:
    """Whether a form is a number and nothing else."""
    return form.kind == "scalar" and form.node is not None and form.node.op == "num"


def _is_finite_set_pair(key: Form, answer: Form) -> bool:
    return (is_set(key) and answer.kind in ("set", "scalar")) or (is_set(answer) and key.kind in ("set", "scalar"))


def _are_points(form: Form) -> bool:
    """Whether pairs in round brackets may as well be points as open intervals."""
    pairs = form.items if form.kind == "list" else (form,)
    return all(
        pair.kind == "group" and pair.text == "()" and not any(end.node and infinite(end.node) for end in pair.items)
        for pair in pairs
    )


def _plain(form: Form) -> Form:
    """A form without what does not matter: a set of one value is that value, `±` is two values."""
    if form.kind == "relation" and (short := shortened(form)) is not None:
        form = short
    elif form.kind == "relation" and set(form.text.split()) == {"="}:
        raise Unreadable("a chain of unequal values")
    if form.kind == "set" and len(form.items) == 1:
        return _plain(form.items[0])
    if form.kind in ("list", "set") and any(_signs(item) for item in form.items):
        return replace(form, items=tuple(part for item in form.items for part in _branches(item)))
    if _signs(form):
        return Form("list", _branches(form), text="or")
    return form


def _signs(form: Form) -> bool:
    if form.kind == "relation" and form.text == "=" and len(form.items) == 2:
        return form.items[1].node is not None and contains(form.items[1].node, "pm")
    return form.kind == "scalar" and form.node is not None and contains(form.node, "pm")


def _branches(form: Form) -> tuple[Form, ...]:
    if not _signs(form):
        return (form,)
    if form.kind == "relation":
        return tuple(replace(form, items=(form.items[0], branch)) for branch in _branches(form.items[1]))
    node = form.node
    return (form,) if node is None else tuple(replace(form, node=_signed(node, upper)) for upper in (True, False))


def _signed(node: Node, upper: bool) -> Node:
    if node.op == "pm":
        inner = _signed(node.args[0], upper)
        return inner if (node.name == "±") == upper else negative(inner)
    return replace(node, args=tuple(_signed(arg, upper) for arg in node.args)) if node.args else node


def _scalars(key: Form, answer: Form) -> Verdict:
    left, right = key.node, answer.node
    if left is None or right is None:
        raise Unreadable("a value without a number")
    if left.op == right.op == "base":
        same = left.name.lstrip("0") == right.name.lstrip("0") and scalars_equal(left.args[0], right.args[0]).equal
        return Verdict(same, "base")
    for based, other in ((left, right), (right, left)):
        if based.op == "base" and other.op == "num" and based.name.isdigit() and other.value == int(based.name[:4000]):
            return Verdict(True, "base", "low")
    if (left.op == "pct") != (right.op == "pct"):
        return Verdict(False, "unit") if {key.unit, answer.unit} - {None} else _percent(left, right)
    if {key.unit, answer.unit} & {"deg", "rad"} and key.unit != answer.unit:
        return _angles(key, answer, left, right)
    if key.unit not in _SOFT_UNITS and answer.unit not in _SOFT_UNITS and key.unit != answer.unit:
        return Verdict(False, "unit")
    if names_segment(left, right):
        return Verdict(True, "structure")
    return scalars_equal(left, right)


def _percent(left: Node, right: Node) -> Verdict:
    """With one percent sign, 25% is 0.25 and also 25 with the sign left out."""
    verdict = scalars_equal(left, right)
    if verdict.equal:
        return verdict
    inner = scalars_equal(left.args[0] if left.op == "pct" else left, right.args[0] if right.op == "pct" else right)
    return Verdict(inner.equal, "percent", inner.doubt)


def _angles(key: Form, answer: Form, left: Node, right: Node) -> Verdict:
    """A degree sign may be left out; degrees and radians are the same angle when they convert."""
    if {key.unit, answer.unit} <= {"deg", "rad", *_SOFT_UNITS}:
        if {key.unit, answer.unit} != {"deg", "rad"} and (verdict := scalars_equal(left, right)).equal:
            return verdict
        degrees, other = (left, right) if key.unit == "deg" else (right, left)
        if "deg" in (key.unit, answer.unit) and (contains(other, "const") or "rad" in (key.unit, answer.unit)):
            return scalars_equal(Node("deg", (degrees,)), other)
    return Verdict(False, "unit")


def _choices(key: Form, answer: Form, rules: Rules) -> Verdict:
    letters = [form.text if form.kind == "choice" else _letter(form) for form in (key, answer)]
    if key.kind == "choice" or _letter(key):
        if letters[1]:
            return Verdict(letters[0] == letters[1], "choice")
        return forms_equal(key.items[0], answer, rules) if key.items else NO
    return forms_equal(key, answer.items[0], rules) if answer.items else NO


def _letter(form: Form) -> str:
    node = form.node
    if form.kind != "scalar" or node is None or node.op not in ("sym", "const") or len(node.name) != 1 or form.unit:
        return ""
    return node.name.upper() if node.name.upper() in "ABCDEFGH" else ""


def _relations(key: Form, answer: Form, rules: Rules) -> Verdict | None:
    """Equations and inequalities; None when both are sets of reals, which are compared as such."""
    for form, other, is_key in ((answer, key, False), (key, answer, True)):
        if form.kind == "relation" and form.text == "~" and len(form.items) == 2:
            return _approximate(form, other, rules, is_key=is_key)
    own, given = named(key), named(answer)
    if key.kind == answer.kind == "relation":
        if own and given and (own[0] == given[0] or {own[0], given[0]} in _GRAPHS):
            return forms_equal(own[1], given[1], rules)
        if key.text == answer.text == "=" or (relations_equal(key, answer)):
            return Verdict(relations_equal(key, answer), "equation")
        if own and given and "in" not in (key.text, answer.text):
            return Verdict(False, "equation")
    elif own and not is_set(key):
        return forms_equal(own[1], answer, rules)
    elif given and not is_set(answer):
        return forms_equal(key, given[1], rules)
    elif answer.kind == "relation" and answer.text == "=":
        return _computed(key, answer, rules)
    if (is_set(key) and (is_set(answer) or answer.kind in ("set", "empty"))) or (
        is_set(answer) and key.kind in ("set", "empty")
    ):
        return None
    return Verdict(False, "equation")


def _computed(key: Form, answer: Form, rules: Rules) -> Verdict:
    """`m + n = 204` answers a question for m + n: letters alone on the left, a number on the right.

    An identity such as `x^2 - 1 = (x - 1)(x + 1)` is the expression on either side.
    """
    nodes = [item.node for item in answer.items]
    if key.kind == "scalar" and all(
        a is not None and b is not None and symbols(a) and scalars_equal(a, b).equal
        for a, b in itertools.pairwise(nodes)
    ):
        return forms_equal(key, replace(answer.items[-1], tokens=()), rules)
    left, right = answer.items[0], answer.items[-1]
    letters = all(token.kind in ("sym", "close", "open") or token.text in ("+", "*", "^") for token in left.tokens)
    number_only = right.node is not None and not symbols(right.node) and right.node.value != 0
    if key.kind != "scalar" or not letters or not number_only or (key.node is not None and symbols(key.node)):
        return Verdict(False, "equation")
    verdict = forms_equal(key, replace(right, tokens=()), rules)
    return replace(verdict, doubt="high")


def _approximate(form: Form, other: Form, rules: Rules, *, is_key: bool) -> Verdict:
    """`22/7 ≈ 3.14` stands for its exact side, or for the rounded one when that is what is asked."""
    exact, rounded = form.items
    if exact.node is None or rounded.node is None:
        return Verdict(False, "approximation")
    sides = [replace(side, tokens=()) for side in (exact, rounded)]
    verdicts = [forms_equal(side, other, rules) if is_key else forms_equal(other, side, rules) for side in sides]
    if is_key or verdicts[0].equal:
        return verdicts[0]
    places = len(rounded.node.name.partition(".")[2])
    slack = Node("add", (Node("fn", (Node("add", (exact.node, negative(rounded.node))),), name="abs"), number(0)))
    scaled = Node("fn", (Node("mul", (slack, number(10**places))),), name="floor")
    honest = places < 50 and scalars_equal(scaled, number(0)).equal
    return replace(verdicts[1], equal=verdicts[1].equal and honest, doubt="low")


def _ratios(key: Form, answer: Form) -> Verdict:
    if key.kind == answer.kind == "ratio":
        if len(key.items) != len(answer.items):
            return Verdict(False, "ratio")
        same = all(_scalars(a, b).equal for a, b in zip(key.items, answer.items, strict=True))
        if same or _is_time(key) or _is_time(answer):
            return Verdict(same, "ratio")
        nodes = [(a.node, b.node) for a, b in zip(key.items, answer.items, strict=True)]
        first = nodes[0]
        return Verdict(all(_proportional(first, pair) for pair in nodes[1:]), "ratio")
    ratio, other = (key, answer) if key.kind == "ratio" else (answer, key)
    if other.kind != "scalar" or len(ratio.items) != 2 or _is_time(ratio) or other.node is None:
        return Verdict(False, "ratio")
    return replace(scalars_equal(ratio_value(ratio), other.node), doubt="low")


def _proportional(first: tuple[Node | None, Node | None], second: tuple[Node | None, Node | None]) -> bool:
    if None in first or None in second:
        return False
    (a, b), (c, d) = first, second
    return scalars_equal(Node("mul", (a, d)), Node("mul", (b, c))).equal  # type: ignore[arg-type]


def _is_time(form: Form) -> bool:
    values = [item.node.value for item in form.items if item.node is not None and item.node.value is not None]
    if len(values) != len(form.items) or len(values) not in (2, 3) or any(v.denominator != 1 for v in values):
        return False
    return values[0] < 25 and all((v >= 10 or v == 0) and v < 60 for v in values[1:])


def _matrices(key: Form, answer: Form, rules: Rules) -> Verdict:
    if key.kind == answer.kind == "matrix":
        same = len(key.items) == len(answer.items) and key.text == answer.text
        return Verdict(
            same and all(_in_order(a.items, b.items, rules) for a, b in zip(key.items, answer.items, strict=True)),
            "matrix",
        )
    matrix, other = (key, answer) if key.kind == "matrix" else (answer, key)
    cells = [cell for row in matrix.items for cell in row.items]
    if 1 in (len(matrix.items), len(matrix.items[0].items)) and other.kind == "group" and other.text == "()":
        return Verdict(_in_order(cells, other.items, rules), "matrix")
    if len(cells) == 1:
        return forms_equal(cells[0], other, rules)
    return Verdict(False, "matrix")


def _collections(key: Form, answer: Form, rules: Rules) -> Verdict:
    """Lists, sets and tuples, in the order that matters."""
    kinds = {key.kind, answer.kind}
    if not kinds <= {"list", "set", "group"}:
        return NO
    if key.kind == answer.kind == "group" and key.text != answer.text and rules.ordered is not False:
        return Verdict(False, "tuple")
    if "list" in kinds and (_is_interval(key) or _is_interval(answer)):
        return Verdict(False, "tuple")
    if "set" in kinds and (_names_coordinates(key) or _names_coordinates(answer)):
        return Verdict(False, "set")
    if not _names_fit(key, answer):
        return Verdict(False, "equation")
    left, right, ordered = _aligned(key, answer)
    if rules.ordered is not None and "set" not in kinds:
        ordered = rules.ordered
    if rules.answer_kind == "set" and "group" not in (key.kind,):
        ordered = False
    if kinds == {"set", "group"}:
        listed = key if key.kind == "group" else answer
        if listed.text != "[]" or len(listed.items) < 3:
            return Verdict(False, "set")
        ordered = False
    if ordered:
        return Verdict(_in_order(left, right, rules), "tuple")
    if key.kind == "set":
        left = _distinct(left, rules)
    if answer.kind == "set":
        right = _distinct(right, rules)
    return Verdict(_in_any_order(left, right, rules), "list" if "list" in kinds else "set")


def _is_interval(form: Form) -> bool:
    """Whether square brackets stand around two values, where they are no list."""
    return form.kind == "group" and form.text != "()" and len(form.items) == 2


def _names_coordinates(form: Form) -> bool:
    """`x = 1, y = 2`: the values of two unknowns, which are no set; `x_1 = 1, x_2 = 2` are two values of one."""
    return len({name[:1] for name in _names(form)}) > 1


def _aligned(key: Form, answer: Form) -> tuple[Sequence[Form], Sequence[Form], bool]:
    """The items of both without their names, and whether their order matters."""
    own, given = _names(key), _names(answer)
    ordered = "group" in (key.kind, answer.kind)
    left, right = _values(key), _values(answer)
    if own and given:
        if sorted(own) == sorted(given):
            return [left[own.index(name)] for name in given], right, True
        return [key], [*right, answer], True
    if (own or given) and "set" not in (key.kind, answer.kind):
        ordered = True
        names, values = (own, left) if own else (given, right)
        if answer.kind == "group" or key.kind == "group":
            values = [value for _, value in sorted(zip(names, values, strict=True), key=lambda pair: pair[0])]
        return (values, right, True) if own else (left, values, True)
    return left, right, ordered


def _names_fit(key: Form, answer: Form) -> bool:
    """Whether the names of the items on one side can stand for what is on the other."""
    own, given = _all_names(key), _all_names(answer)
    if own and given:
        return set(own) == set(given)
    names, form, other = (own, key, answer) if own else (given, answer, key)
    if not names:
        return True
    if len(set(names)) < len(names):
        # Two values of one unknown are no pair, and an unknown named twice among others is no point.
        return len(set(names)) == 1 and other.kind != "group"
    return form.text != "or" or not _names_coordinates(form)


def _all_names(form: Form) -> list[str]:
    """The names of the items when every one is named."""
    pairs = [named(item) for item in form.items]
    names = [pair[0] for pair in pairs if pair is not None]
    return names if len(names) == len(form.items) > 1 else []


def _names(form: Form) -> list[str]:
    """The names of named items, when there are several different ones."""
    names = _all_names(form)
    return names if len(set(names)) == len(names) else []


def _values(form: Form) -> list[Form]:
    pairs = [named(item) for item in form.items]
    if form.kind == "list" and all(pair is not None for pair in pairs):
        return [pair[1] for pair in pairs if pair is not None]
    return list(form.items)


def _in_order(left: Sequence[Form], right: Sequence[Form], rules: Rules) -> bool:
    return len(left) == len(right) and all(forms_equal(a, b, rules).equal for a, b in zip(left, right, strict=True))


def _in_any_order(left: Sequence[Form], right: Sequence[Form], rules: Rules) -> bool:
    """A one-to-one match; equality is transitive, so the first partner found will do."""
    if len(left) != len(right) or len(left) > _MAX_MATCHED:
        return False
    rest = list(right)
    for item in left:
        for index, other in enumerate(rest):
            if forms_equal(item, other, rules).equal:
                del rest[index]
                break
        else:
            return False
    return True


def _distinct(items: Sequence[Form], rules: Rules) -> list[Form]:
    kept: list[Form] = []
    for item in items[:_MAX_MATCHED]:
        if not any(forms_equal(item, other, rules).equal for other in kept):
            kept.append(item)
    return kept
