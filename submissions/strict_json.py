"""JSON as strangers send it: read whole, or refused with the reason; nothing is repaired."""

from __future__ import annotations

import json
from typing import Any

import orjson


class NotJson(ValueError):
    """The bytes are not one JSON object as it is asked for; the message says where."""


def parse_object(data: bytes) -> dict[str, Any]:
    """The object that `data` holds; raises NotJson for anything else.

    Refused: other encodings than UTF-8, a key twice in one object, NaN and Infinity, nesting too deep to read, and
    numbers of thousands of digits.

    >>> parse_object(b'{"n": 1, "n": 2}')
    Traceback (most recent call last):
    multilingual_math_audit.submissions.strict_json.NotJson: the key 'n' stands twice in one object
    """
    value = _read_plain(data)
    if value is not None:
        return value
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise NotJson("nested too deep") from None
    except NotJson:
        raise
    except ValueError:
        raise NotJson("holds a number with thousands of digits") from None
    if not isinstance(value, dict):
        raise NotJson(f"a JSON object is asked for, not {type(value).__name__}")
    return value


_SPACE = b" \t\r\n"


def _read_plain(data: bytes) -> dict[str, Any] | None:
    """The object of plain text, read by the fast parser; None leaves the text to the strict one.

    Plain is what writing the value again gives back, spaces and line breaks aside. A key that stands twice is written
    once, with a colon less, and a number that was rounded is written otherwise, so neither is ever plain.
    """
    try:
        value = orjson.loads(data)
        again = orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    plain = again == data.removesuffix(b"\n") or again.translate(None, _SPACE) == data.translate(None, _SPACE)
    return value if plain and isinstance(value, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJson(f"the key {key[:40]!r} stands twice in one object")
            seen.add(key)
    return result


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is no number")
