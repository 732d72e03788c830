"""Where source files come from, and what is said when they do not come or are other ones."""

from __future__ import annotations

import hashlib
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import hub_server
import pyarrow
import pyarrow.parquet
import pytest

from multilingual_math_audit.benchmarks.catalogue import Spec, find_spec
from multilingual_math_audit.errors import StorageError, UsageError
from multilingual_math_audit.loaders import sources
from multilingual_math_audit.loaders.problems import load_benchmark
from multilingual_math_audit.loaders.sources import (
    GatedSource,
    MissingSource,
    WrongDigest,
    find_source,
    locate_source,
    source_url,
)

RAW = b'{"answer": "4", "prompt": "What is 2 + 2?"}\n'


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    with hub_server.HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.setenv("MATH_AUDIT_RAW_BASE", server.raw_base)
        monkeypatch.setenv("MATH_AUDIT_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("MATH_AUDIT_SOURCES", raising=False)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


def _github_spec(sha256: str | None) -> Spec:
    spec = find_spec("aime2026_en")
    return replace(spec, sources=(replace(spec.sources[0], sha256=sha256),))


def _raw_path(spec: Spec) -> str:
    source = spec.sources[0]
    return f"{source.repository}/{source.revision}/{source.path}"


def test_a_raw_file_is_downloaded_once_and_then_cached(hub: Any) -> None:
    """The pinned path is asked for once; the second call answers from the cache, with the same bytes."""
    spec = _github_spec(hashlib.sha256(RAW).hexdigest())
    hub.raw_files[_raw_path(spec)] = RAW
    assert locate_source(spec) == "download"
    first = find_source(spec)
    second = find_source(spec)
    assert first.path == second.path
    assert first.path.read_bytes() == RAW
    assert [path for _, path in hub.requests] == [f"/raw/{_raw_path(spec)}"]
    assert locate_source(spec) == "cache"


def test_another_file_than_pinned_is_refused_and_not_kept(hub: Any) -> None:
    """A download with a wrong sha256 raises WrongDigest naming both digests, and leaves nothing in the cache."""
    spec = find_spec("aime2026_en")
    hub.raw_files[_raw_path(spec)] = RAW
    with pytest.raises(WrongDigest, match=str(spec.sources[0].sha256)):
        find_source(spec)
    assert list(sources.cache_folder().iterdir()) == []


def test_a_wrong_file_in_the_folder_is_refused(tmp_path: Path) -> None:
    """A file of the right name and wrong bytes in --sources raises WrongDigest with its path."""
    (tmp_path / "aime2026_tr.parquet").write_bytes(b"PAR1")
    with pytest.raises(WrongDigest, match=r"aime2026_tr\.parquet"):
        find_source(find_spec("aime2026_tr"), tmp_path)


def test_without_a_network_every_route_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing listens on port 9 of this machine: the error lists both addresses and says how to go on without them."""
    monkeypatch.setenv("MATH_AUDIT_RAW_BASE", "http://127.0.0.1:9/raw")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("MATH_AUDIT_CACHE", str(tmp_path))
    monkeypatch.delenv("MATH_AUDIT_SOURCES", raising=False)
    with pytest.raises(MissingSource) as caught:
        find_source(find_spec("aime2026_en"))
    message = str(caught.value)
    assert "http://127.0.0.1:9/raw/jianzhnie/LLMEval" in message
    assert "http://127.0.0.1:9/datasets/MathArena/aime_2026" in message
    assert "--sources" in message


def test_the_hub_is_tried_after_the_raw_file(hub: Any) -> None:
    """With no raw file, the Hub's data set answers, at the pinned revision and path."""
    repository = hub.add_repository("dataset", "MathArena/aime_2026", {"data/train-00000-of-00001.parquet": b"PAR1"})
    found = find_source(find_spec("aime2026_en"))
    assert found.source.route == "hub"
    assert found.path.read_bytes() == b"PAR1"
    assert repository.name == "MathArena/aime_2026"
    assert [path.name for path in sources.cache_folder().iterdir()] == [found.path.name]


def test_a_gated_data_set_says_how_to_get_in(hub: Any) -> None:
    """A gated data set raises GatedSource, which names the page where its terms are accepted."""
    hub.add_repository("dataset", "MathArena/aime_2026").gated = True
    with pytest.raises(GatedSource, match=r"https://huggingface\.co/datasets/MathArena/aime_2026"):
        find_source(find_spec("aime2026_en"))


def test_a_refused_raw_file_is_gated_too(hub: Any) -> None:
    """HTTP 403 from the raw host is a refusal, not a missing network."""
    hub.failures["/raw/"] = 403
    with pytest.raises(GatedSource, match="HTTP 403"):
        find_source(find_spec("tubitak2026"))


def test_a_private_data_set_is_missing(hub: Any) -> None:
    """A private data set without a token is reported as not there, with the token named."""
    hub.add_repository("dataset", "MathArena/aime_2026", private=True)
    with pytest.raises(MissingSource, match="HF_TOKEN"):
        find_source(find_spec("aime2026_en"))


def test_a_failing_server_leaves_no_half_file(hub: Any) -> None:
    """HTTP 500 is a failed route with its status in the message, and the cache stays empty."""
    hub.failures["/raw/"] = 500
    with pytest.raises(MissingSource, match="HTTP 500"):
        find_source(find_spec("tubitak2026"))
    assert list(sources.cache_folder().iterdir()) == []


def test_a_broken_connection_leaves_no_half_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that promises 100 bytes, sends 3 and hangs up is a failed route, and the cache stays empty."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = listener.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        connection.close()

    threading.Thread(target=answer, daemon=True).start()
    monkeypatch.setenv("MATH_AUDIT_RAW_BASE", f"http://127.0.0.1:{listener.getsockname()[1]}")
    monkeypatch.setenv("MATH_AUDIT_CACHE", str(tmp_path))
    monkeypatch.delenv("MATH_AUDIT_SOURCES", raising=False)
    with pytest.raises(MissingSource, match="after 3 of 100 bytes"):
        find_source(find_spec("tubitak2026"))
    listener.close()
    assert list(tmp_path.iterdir()) == []


def test_a_token_opens_a_private_data_set(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_TOKEN is sent to the Hub, and to no raw host."""
    hub.add_repository("dataset", "MathArena/aime_2026", {"data/train-00000-of-00001.parquet": b"PAR1"}, private=True)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    assert find_source(find_spec("aime2026_en")).path.read_bytes() == b"PAR1"


def test_a_folder_that_lacks_the_file_says_which(tmp_path: Path) -> None:
    """MissingSource names the file wanted and where it comes from."""
    with pytest.raises(MissingSource, match=r"pheb_mathematics_a\.json or mathematics_a\.json"):
        find_source(find_spec("pt_exams"), tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A mistyped folder is a wrong use, not a missing source."""
    with pytest.raises(UsageError, match="is not there"):
        find_source(find_spec("pt_exams"), tmp_path / "nowhere")


def test_the_folder_of_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """MATH_AUDIT_SOURCES stands in for --sources, and the upstream's own file name is accepted."""
    spec = _github_spec(None)
    (tmp_path / "aime26.jsonl").write_bytes(RAW)
    monkeypatch.setenv("MATH_AUDIT_SOURCES", str(tmp_path))
    assert find_source(spec).path == tmp_path / "aime26.jsonl"
    assert locate_source(spec) == "folder"


def test_addresses_are_pinned_to_commits() -> None:
    """Every raw address holds a 40-digit commit, so that the file cannot change under it."""
    for name in ("aime2026_en", "aime2026_tr", "aime2026_pt", "tubitak2026", "pt_exams"):
        source = find_spec(name).sources[0]
        assert len(source.revision) == 40
        assert source.revision in source_url(source)


def test_a_cache_that_cannot_be_written(hub: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache path that runs through a file is a storage error that names the variable."""
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("MATH_AUDIT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(StorageError, match="MATH_AUDIT_CACHE"):
        find_source(find_spec("tubitak2026"))


def test_a_benchmark_over_the_raw_route(hub: Any, shared: Path) -> None:
    """The Turkish translation, downloaded from its pinned path, gives its thirty problems."""
    spec = find_spec("aime2026_tr")
    hub.raw_files[_raw_path(spec)] = (shared / "sources" / "aime2026_tr.parquet").read_bytes()
    assert [problem.id for problem in load_benchmark("aime2026_tr")] == [f"aime2026_tr/{row}" for row in range(1, 31)]


@pytest.mark.filterwarnings("error")
def test_a_benchmark_over_the_hub_route(hub: Any, shared: Path, tmp_path: Path) -> None:
    """The same English problems in the Hub's columns and format are the same records, word for word."""
    folder = shared / "sources"
    rows = [json.loads(line) for line in (folder / "aime2026_en.jsonl").read_text(encoding="utf-8").splitlines()]
    suffix = find_spec("aime2026_en").sources[0].strip_suffix
    table = pyarrow.table({
        "problem_idx": list(range(1, 31)),
        "answer": [int(row["answer"]) for row in rows],
        "problem": [row["prompt"].removesuffix(suffix) for row in rows],
    })  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    hub.add_repository("dataset", "MathArena/aime_2026", {"data/train-00000-of-00001.parquet": data})
    assert load_benchmark("aime2026_en") == load_benchmark("aime2026_en", sources=folder)


def test_the_token_is_not_carried_to_another_host(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file is answered with an address elsewhere: the request there has no Authorization header."""
    seen: list[str | None] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            if self.path.startswith("/datasets/"):
                self.send_response(302)
                self.send_header("Location", f"http://localhost:{server.server_address[1]}/large")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"PAR1")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    assert find_source(find_spec("aime2026_en")).path.read_bytes() == b"PAR1"
    server.shutdown()
    server.server_close()
    assert seen == ["Bearer hf_test", None]
