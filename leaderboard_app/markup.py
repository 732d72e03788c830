"""HTML that cannot be broken by what is put into it: every plain string is escaped, always."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_NAME = re.compile(r"^[a-zA-Z][a-zA-Z0-9-]*$")
_EMPTY = frozenset({"br", "hr", "img", "input", "col"})
_SAFE_LINK = re.compile(r"^(https://|/|\?|#)")


class Markup(str):
    """A string that is HTML already; only this module makes them."""

    __slots__ = ()


Child = str | int | Markup | None


def tag(name: str, *children: Child | Iterable[Child], **attributes: str | int | float | bool | None) -> Markup:
    """An element. Children that are not Markup are escaped; an attribute that is None or False is left out.

    A trailing underscore is dropped from an attribute's name and the others become hyphens. A link that is not https or
    within the page is left out.

    >>> tag("p", "<script>", class_="note", data_id='"x"')
    '<p class="note" data-id="&quot;x&quot;">&lt;script&gt;</p>'
    >>> tag("a", "x", href="javascript:alert(1)")
    '<a>x</a>'
    """
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is no element")
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Child | Iterable[Child]) -> Markup:
    """Several pieces as one; plain strings are escaped."""
    return Markup("".join(_escape(child) for child in children))


def svg(name: str, *children: Child | Iterable[Child], **attributes: str | int | float | None) -> Markup:
    """An element of a drawing; numbers are written with two decimals at most."""
    rounded = {key: f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
               for key, value in attributes.items()}  # fmt: skip
    return tag(name, *children, **rounded)


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False or (name == "href" and not _SAFE_LINK.match(str(value))):
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def _escape(child: Child | Iterable[Child]) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int):
        return html.escape(str(child))
    return join(*child)
