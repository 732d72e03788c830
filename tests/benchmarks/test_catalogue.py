"""The specs are whole, closed and say where they fail."""

from __future__ import annotations

import pytest

from multilingual_math_audit.benchmarks.catalogue import benchmark_names, find_spec, read_spec, spec_file
from multilingual_math_audit.errors import RecordError, UnknownName

ROWS = {
    "aime2026_en": 30, "aime2026_pt": 30, "aime2026_tr": 30, "pt_exams": 166, "tubitak2026": 32,
    "starter_en": 72, "starter_pt": 72, "starter_tr": 72,
}  # fmt: skip


def test_the_benchmarks_are_these() -> None:
    """Names and row counts of everything in the catalogue."""
    assert {name: find_spec(name).rows for name in benchmark_names()} == ROWS


def test_samples_follow_the_protocol() -> None:
    """64 samples a question on the competitions, 16 on the exams."""
    samples = {name: find_spec(name).samples for name in benchmark_names() if not find_spec(name).ships}
    assert {name for name, count in samples.items() if count == 64} == set(samples) - {"pt_exams"}
    assert samples["pt_exams"] == 16


def test_every_fetched_benchmark_is_pinned() -> None:
    """A digest of the keys for each; commit, columns and, where it is known, the digest of the file."""
    for name in benchmark_names():
        spec = find_spec(name)
        if spec.ships:
            continue
        assert spec.keys_sha256 is not None
        first = spec.sources[0]
        assert len(first.revision) == 40
        assert (first.sha256 is None) == (name == "tubitak2026")


def test_rights_decide_what_is_published() -> None:
    """Only the two sets without a licence stay unpublished."""
    assert [name for name in benchmark_names() if not find_spec(name).publish] == ["pt_exams", "tubitak2026"]


def test_errata_are_the_known_ones() -> None:
    """Five rows of the exams are left out; three AIME typos are noted in each language and kept."""
    assert [(e.row, e.exclude) for e in find_spec("pt_exams").errata] == [
        (38, True), (39, True), (43, True), (72, True), (139, True),
    ]  # fmt: skip
    for language in ("en", "tr", "pt"):
        errata = find_spec(f"aime2026_{language}").errata
        assert [(e.row, e.exclude) for e in errata] == [(10, False), (11, False), (13, False)]


def test_the_wrong_key_is_wrong() -> None:
    """Row 38 of the exams by arithmetic: (1+i)w = 1 gives w = 1/2 - i/2, so k - 1 = 1/2, 2p = -1/2 and k + p = 5/4."""
    inverse = 1 / (1 + 1j)
    assert (inverse.real + 1) + inverse.imag / 2 == 5 / 4
    assert find_spec("pt_exams").keys[38].answer == r"$\frac{7}{4}$"


def test_unknown_names_get_a_hint() -> None:
    """The message lists the names and offers the nearest."""
    with pytest.raises(UnknownName, match="Did you mean 'aime2026_tr'") as caught:
        find_spec("aime2026-tr")
    assert "tubitak2026" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("language: tr", "language: xx", "cannot be 'xx'"),
        ("kind: integer", "kind: number", "answer kind"),
        ("route: github", "route: ftp", "route"),
        ("format: parquet", "format: xls", "format"),
        ("row: 10", "row: 31", "no row 31"),
        ("rows: 30", "row_count: 30", "no field 'row_count'"),
        ("credit:", "#", "lacks credit"),
    ],
)
def test_a_slip_in_a_spec_is_named(old: str, new: str, says: str) -> None:
    """A value outside its closed set, an unknown field, a missing one: each is said by name."""
    text = spec_file("aime2026_tr").read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(RecordError, match=says):
        read_spec(text.replace(old, new, 1))


def test_a_short_key_table_is_found() -> None:
    """A key table with a row missing does not pass for a whole one."""
    lines = spec_file("pt_exams").read_text(encoding="utf-8").splitlines()
    with pytest.raises(RecordError, match="166 rows and 165 keys"):
        read_spec("\n".join(lines[:-1]))
