"""The process that asks SymPy: trees in on standard input, one word out on standard output for each."""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
from types import FrameType
from typing import Any

import orjson

# Calls of Python functions, not seconds: the same on every machine.
MAX_CALLS = 180_000
MAX_FACTORS = 10_000
_MAX_BYTES = 900 * 2**20
_CPU_SECONDS = 2.0
_DIGITS = 40


class OutOfSteps(BaseException):
    """The budget of calls is spent; not an Exception, so that nothing catches it on the way."""


def main() -> None:
    """Answer requests until standard input ends."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    import sympy

    # One endless sum fills the tables of hypergeometric functions before the first budget starts.
    n = sympy.Symbol("n", integer=True)
    sympy.Sum(1 / sympy.factorial(n), (n, 0, sympy.oo)).doit()

    for line in sys.stdin.buffer:
        # A call into C that never returns is ended by its processor time.
        signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS)
        sys.stdout.write(_answer(line) + "\n")
        sys.stdout.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(line: bytes) -> str:
    from sympy.core.cache import clear_cache

    clear_cache()
    left, right = orjson.loads(line)
    try:
        with _counted():
            verdict = _compare(left, right)
    except OutOfSteps:
        return "limit"
    except MemoryError:
        return "limit"
    except Exception:
        return "unknown"
    return "unknown" if verdict is None else "equal" if verdict else "different"


@contextlib.contextmanager
def _counted() -> Any:
    calls = importing = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls, importing
        # A module that is loaded at its first use must not count, or the order of questions would matter.
        if frame.f_code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        calls += event == "call" and not importing
        if calls > MAX_CALLS:
            sys.setprofile(None)
            raise OutOfSteps

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def _compare(left: Any, right: Any) -> bool | None:
    import sympy

    a, b = _built(left, {}).doit(), _built(right, {}).doit()
    if a.has(sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit) or b.has(sympy.Integral, sympy.Sum, sympy.Limit):
        return None
    difference = a - b
    if difference.has(sympy.nan, sympy.zoo, sympy.oo):
        return bool(a == b) if a.is_number and b.is_number and sympy.oo in (abs(a), abs(b)) else None
    if difference == 0:
        return True
    names = sorted(difference.free_symbols, key=str)
    starts = (1, 4, 9) if names else (1,)
    points = [{name: sympy.Rational(7 * n + 3, 5 + n) for n, name in enumerate(names, start)} for start in starts]
    for point in points:
        value = difference.subs(point).evalf(_DIGITS)
        if not value.is_number or abs(value) > sympy.Float(10) ** -(_DIGITS // 2) * (1 + abs(a.subs(point).evalf(15))):
            return False if value.is_number else None
    return True


def _built(tree: Any, bound: dict[str, Any]) -> Any:
    import sympy

    op, name, value, args = tree
    if op == "num":
        return sympy.Rational(value)
    if op == "sym":
        return bound.get(name) or sympy.Symbol(name, real=True)
    if op == "const":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}[name]
    if op in ("sum", "prod", "int", "lim"):
        return _bound(op, name, args, bound)
    parts = [_built(arg, bound) for arg in args]
    match op:
        case "add":
            return sympy.Add(*parts)
        case "mul":
            return sympy.Mul(*parts)
        case "pow":
            return sympy.Pow(*parts)
        case "root":
            return sympy.real_root(*parts) if parts[0].is_number else sympy.root(*parts)
        case "fact":
            return sympy.factorial(parts[0])
        case "pct":
            return parts[0] / 100
        case "deg":
            return parts[0] * sympy.pi / 180
        case "idx":
            return sympy.Function(name)(*parts)
    return _function(name, parts)


def _bound(op: str, name: str, args: Any, bound: dict[str, Any]) -> Any:
    import sympy

    whole = op in ("sum", "prod")
    symbol = sympy.Symbol(name, integer=True) if whole else sympy.Symbol(name, real=True)
    limits = [_built(arg, bound) for arg in args[1:]]
    if op == "prod" and any(limit.is_number and limit.is_finite and abs(limit) > MAX_FACTORS for limit in limits):
        raise ValueError("a product too long")
    body = _built(args[0], {**bound, name: symbol})
    if op == "lim":
        return sympy.limit(body, symbol, limits[0])
    if op == "int":
        # Meijer's tables are built at first use, which would make the count depend on what came before.
        return sympy.integrate(body, (symbol, *limits), meijerg=False)
    return (sympy.Sum if op == "sum" else sympy.Product)(body, (symbol, *limits)).doit()


def _function(name: str, parts: Any) -> Any:
    import sympy

    if name == "log":
        return sympy.log(parts[0], parts[1] if len(parts) > 1 else 10)
    names = {"ln": "log", "abs": "Abs", "ceil": "ceiling", "sgn": "sign", "max": "Max", "min": "Min"}
    allowed = (
        "sin cos tan cot sec csc asin acos atan acot sinh cosh tanh floor binomial gcd lcm re im arg".split()  # noqa: SIM905
        + list(names)
    )  # fmt: skip
    if name not in allowed:
        raise ValueError(name)
    return getattr(sympy, names.get(name, name))(*parts)


if __name__ == "__main__":
    main()
