"""The last resort: integrals, limits and endless sums go to SymPy, in a process that can be ended.

The process is started when first needed and reused. It is told trees, never text; it counts its steps, so that the
answer does not depend on the machine's load, and the operating system bounds its memory and its processor time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

import multilingual_math_audit
from multilingual_math_audit.evaluate.answers.numeric import height
from multilingual_math_audit.evaluate.answers.trees import Node, contains

_MODULE = "multilingual_math_audit.evaluate.answers.sympy_worker"
_MAX_NODES = 120
_MAX_HEIGHT = 60
_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


def proved_equal(left: Node, right: Node) -> bool | None:
    r"""Whether SymPy shows two trees equal or different; None when it cannot within its budget.

    >>> from fractions import Fraction
    >>> from multilingual_math_audit.evaluate.answers.trees import Node, number
    >>> x = Node("sym", name="x")
    >>> proved_equal(Node("int", (x, number(0), number(1)), name="x"), number(Fraction(1, 2)))
    True
    """
    if not _is_small(left) or not _is_small(right):
        return None
    request = orjson.dumps([_plain(left), _plain(right)]) + b"\n"
    with _lock:
        reply = _ask(request)
    return {b"equal": True, b"different": False}.get(reply.strip())


def needs_tail(*nodes: Node) -> bool:
    """Whether a tree holds what only SymPy evaluates: an integral, a limit, an endless sum or product."""
    return any(contains(node, "int", "lim") or (contains(node, "sum", "prod") and _is_endless(node)) for node in nodes)


def _is_endless(node: Node) -> bool:
    stack = [node]
    while stack:
        current = stack.pop()
        if current.op == "const" and current.name == "inf":
            return True
        stack.extend(current.args)
    return False


def _is_small(node: Node) -> bool:
    count, stack = 0, [node]
    while stack:
        current = stack.pop()
        count += 1
        if count > _MAX_NODES:
            return False
        stack.extend(current.args)
    try:
        return height(node) < _MAX_HEIGHT
    except OverflowError:
        return False


def _plain(node: Node) -> Sequence[Any]:
    return [node.op, node.name, "" if node.value is None else str(node.value), [_plain(arg) for arg in node.args]]


def _ask(request: bytes) -> bytes:
    global _process
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": _path()},
        )
    if _process.stdin is None or _process.stdout is None:
        return b""
    try:
        _process.stdin.write(request)
        _process.stdin.flush()
        reply = _process.stdout.readline()
    except OSError:
        reply = b""
    if not reply:
        with contextlib.suppress(OSError):
            _process.kill()
        _process.wait()
        _process = None
    return reply


def _path() -> str:
    """Where this package was imported from, so that the worker finds the same one."""
    home = str(Path(multilingual_math_audit.__file__).resolve().parent.parent)
    return os.pathsep.join(part for part in (os.environ.get("PYTHONPATH"), home) if part)


def _forget() -> None:
    """A forked process gets its own worker and its own lock."""
    global _lock, _process
    _lock, _process = threading.Lock(), None


os.register_at_fork(after_in_child=_forget)
