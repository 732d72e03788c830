"""A small, stateful stand-in for the Hugging Face Hub, and for raw file hosting, on 127.0.0.1.

It holds repositories (models, datasets, spaces) with commits, branches, pull requests and large files, so that a
client that creates, uploads, opens a pull request, reads the tree back and downloads sees what it wrote. Point a
client at it with `HF_ENDPOINT=server.endpoint`, `HF_HUB_DISABLE_XET=1` and any `HF_TOKEN`.

    with HubServer() as server:
        repository = server.add_repository("dataset", "org/name", {"README.md": b"# hello"})
        ...                                    # a client pushes
        repository.files("main")["README.md"]  # what the repository holds now
        server.raw_files["owner/repo/commit/path.csv"] = b"..."   # served under server.raw_base

`server.requests` lists every (method, path) asked for, `server.failures` maps a part of a path to a status code to
answer with, and `repository.gated` or `.private` refuse readers without a token.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_TYPES = {"models": "model", "datasets": "dataset", "spaces": "space"}
_BINARY = (".parquet", ".png", ".bin", ".safetensors", ".zip", ".zst")
_DATE = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Commit:
    """One state of a repository: its files by path, and where it came from."""

    oid: str
    parent: str | None
    message: str
    files: Mapping[str, bytes]


@dataclass
class PullRequest:
    """A proposed change: its number, its branch `refs/pr/N`, its status, and what was said about it."""

    num: int
    title: str
    description: str
    author: str
    status: str = "open"
    comments: list[str] = field(default_factory=list)

    @property
    def branch(self) -> str:
        return f"refs/pr/{self.num}"


@dataclass
class Repository:
    """One repository with its history."""

    kind: str
    name: str
    private: bool = False
    gated: bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    pull_requests: dict[int, PullRequest] = field(default_factory=dict)
    leaderboard: list[dict[str, Any]] = field(default_factory=list)

    def commit(self, message: str, files: Mapping[str, bytes], *, branch: str = "main") -> Commit:
        """Record a whole new state on a branch."""
        parent = self.branches.get(branch)
        content = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}
        seal = json.dumps([self.kind, self.name, branch, parent, message, content, len(self.commits)])
        commit = Commit(hashlib.sha1(seal.encode()).hexdigest(), parent, message, dict(files))
        self.commits[commit.oid] = commit
        self.branches[branch] = commit.oid
        return commit

    def at(self, revision: str) -> Commit | None:
        """The commit of a branch or of an object id."""
        return self.commits.get(self.branches.get(revision, revision))

    def files(self, revision: str = "main") -> Mapping[str, bytes]:
        """The files of a revision by path."""
        commit = self.at(revision)
        assert commit is not None, f"no revision {revision!r} in {self.name}"
        return commit.files

    def history(self, revision: str = "main") -> list[Commit]:
        """The commits of a revision, newest first."""
        found, commit = [], self.at(revision)
        while commit is not None:
            found.append(commit)
            commit = self.commits.get(commit.parent) if commit.parent else None
        return found

    def merge(self, num: int) -> None:
        """Merge a pull request: main takes its files."""
        request = self.pull_requests[num]
        self.commit(f"{request.title} (#{num})", self.files(request.branch))
        request.status = "merged"

    @property
    def prefix(self) -> str:
        return "" if self.kind == "model" else f"{self.kind}s/"


class HubServer:
    """The server; a context manager that listens while it is open."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.large_files: dict[str, bytes] = {}
        self.raw_files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.failures: dict[str, int] = {}
        self.user = "tester"
        self.lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._http.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.raw_base = f"{self.endpoint}/raw"

    def __enter__(self) -> HubServer:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def add_repository(
        self, kind: str, name: str, files: Mapping[str, bytes] | None = None, *, private: bool = False
    ) -> Repository:
        """A new repository with a first commit; kind is model, dataset or space."""
        repository = Repository(kind, name, private=private)
        repository.commit("initial commit", files or {})
        self.repositories[(kind, name)] = repository
        return repository

    def environment(self) -> dict[str, str]:
        """What a client process needs in its environment to talk to this server."""
        return {"HF_ENDPOINT": self.endpoint, "HF_TOKEN": "hf_test", "HF_HUB_DISABLE_XET": "1"}


class _Answer(Exception):
    """Ends a request with a status, a body and headers."""

    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(parts.path)
        with self.hub.lock:
            self.hub.requests.append((self.command, path))
            try:
                for part, status in self.hub.failures.items():
                    if part in path:
                        raise _Answer(status, {"error": f"asked to fail with {status}"})
                self._route(path)
                raise _Answer(404, {"error": f"nothing at {path}"})
            except _Answer as answer:
                self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle

    def _send(self, answer: _Answer) -> None:
        body = answer.body
        if not isinstance(body, bytes):
            body = b"" if body is None else json.dumps(body).encode()
            answer.headers.setdefault("Content-Type", "application/json")
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self) -> dict[str, Any]:
        loaded = json.loads(self.body or b"{}")
        assert isinstance(loaded, dict)
        return loaded

    def _route(self, path: str) -> None:
        if path.startswith("/raw/"):
            data = self.hub.raw_files.get(path.removeprefix("/raw/"))
            raise _Answer(404, b"404: Not Found") if data is None else _Answer(200, data)
        if path.startswith("/large-files/"):
            self.hub.large_files[path.rsplit("/", 1)[1]] = self.body
            raise _Answer(200)
        if path == "/api/validate-yaml":
            raise _Answer(200, {"errors": [], "warnings": []})
        if path == "/api/whoami-v2":
            raise _Answer(200, {"type": "user", "name": self.hub.user, "orgs": [], "auth": {"type": "access_token"}})
        if path == "/api/repos/create":
            self._create()
        if ".git/info/lfs/" in path:
            self._offer_upload()
        if "/resolve/" in path:
            self._resolve(path)
        if path.startswith("/api/"):
            self._api(path)

    def _create(self) -> None:
        asked = self._json()
        kind = asked.get("type") or "model"
        name = f"{asked.get('organization') or self.hub.user}/{asked['name']}"
        exists = (kind, name) in self.hub.repositories
        if not exists:
            private = bool(asked.get("private")) or asked.get("visibility") == "private"
            self.hub.add_repository(kind, name, private=private)
        repository = self.hub.repositories[(kind, name)]
        body = {"url": f"{self.hub.endpoint}/{repository.prefix}{name}", "name": name, "id": name}
        raise _Answer(409 if exists else 200, body | ({"error": "You already created this repo"} if exists else {}))

    def _offer_upload(self) -> None:
        objects = []
        for item in self._json()["objects"]:
            upload = {"href": f"{self.hub.endpoint}/large-files/{item['oid']}"}
            have = item["oid"] in self.hub.large_files
            objects.append(item | ({} if have else {"actions": {"upload": upload}}))
        raise _Answer(200, {"transfer": "basic", "objects": objects})

    def _repository(self, kind: str, name: str) -> Repository:
        repository = self.hub.repositories.get((kind, name))
        token = self.headers.get("Authorization")
        if repository is None or (repository.private and not token):
            raise _Answer(401, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        return repository

    def _commit(self, repository: Repository, revision: str) -> Commit:
        commit = repository.at(revision)
        if commit is None:
            raise _Answer(404, {"error": "Invalid rev id"}, X_Error_Code="RevisionNotFound")
        return commit

    def _resolve(self, path: str) -> None:
        head, _, tail = path.lstrip("/").partition("/resolve/")
        first, _, rest = head.partition("/")
        kind, name = (_TYPES[first], rest) if first in ("datasets", "spaces") else ("model", head)
        repository = self._repository(kind, name)
        if repository.gated and not self.headers.get("Authorization"):
            raise _Answer(403, {"error": "Access to this dataset is restricted"}, X_Error_Code="GatedRepo")
        revision, file = _split_revision(tail)
        commit = self._commit(repository, revision)
        if file not in commit.files:
            raise _Answer(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound", X_Repo_Commit=commit.oid)
        data = commit.files[file]
        raise _Answer(200, data, ETag=f'"{_blob_id(data)}"', X_Repo_Commit=commit.oid)

    def _api(self, path: str) -> None:
        parts = path.removeprefix("/api/").split("/")
        if parts[0] not in _TYPES or len(parts) == 1:
            return
        repository = self._repository(_TYPES[parts[0]], "/".join(parts[1:3]))
        verb, rest = (parts[3] if len(parts) > 3 else "revision"), "/".join(parts[4:])
        if verb == "revision":
            raise _Answer(200, _describe(repository, self._commit(repository, rest or "main")))
        if verb == "preupload":
            self._commit(repository, rest)
            modes = [{"path": file["path"], "shouldIgnore": False, "oid": None,
                      "uploadMode": "lfs" if file["path"].endswith(_BINARY) else "regular"}
                     for file in self._json()["files"]]  # fmt: skip
            raise _Answer(200, {"files": modes})
        if verb == "commit":
            self._receive(repository, rest)
        if verb == "tree":
            self._list_tree(repository, rest)
        if verb == "paths-info":
            files = self._commit(repository, rest).files
            wanted = self._json()["paths"] if self.body.startswith(b"{") else parse_qs(self.body.decode())["paths"]
            raise _Answer(200, [entry for entry in _entries(files) if entry["path"] in wanted])
        if verb == "refs":
            branches = [{"name": name, "ref": f"refs/heads/{name}", "targetCommit": oid}
                        for name, oid in repository.branches.items() if not name.startswith("refs/")]  # fmt: skip
            raise _Answer(200, {"branches": branches, "converts": [], "tags": []})
        if verb == "commits":
            raise _Answer(200, [{"id": commit.oid, "title": commit.message, "message": "", "authors": [], "date": _DATE}
                                for commit in repository.history(rest or "main")])  # fmt: skip
        if verb == "leaderboard":
            raise _Answer(200, repository.leaderboard)
        if verb == "discussions":
            self._discuss(repository, rest)

    def _receive(self, repository: Repository, revision: str) -> None:
        if not self.headers.get("Authorization"):
            raise _Answer(401, {"error": "Invalid username or password."})
        base = self._commit(repository, revision)
        files, title, description = dict(base.files), "", ""
        for line in filter(None, self.body.split(b"\n")):
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "header":
                title, description = value["summary"], value.get("description", "")
                if value.get("parentCommit") not in (None, base.oid):
                    raise _Answer(412, {"error": "A commit has happened since. Please refresh and try again."})
            elif entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.hub.large_files[value["oid"]]
            elif entry["key"] == "deletedFile":
                files.pop(value["path"], None)
            elif entry["key"] == "deletedFolder":
                files = {path: data for path, data in files.items() if not path.startswith(value["path"])}
        branch, answer = revision, {}
        if self.query.get("create_pr") == "1":
            num = len(repository.pull_requests) + 1
            request = PullRequest(num, title, description, self.hub.user)
            repository.pull_requests[num] = request
            branch = request.branch
            repository.branches[branch] = base.oid
            answer["pullRequestUrl"] = f"{self.hub.endpoint}/{repository.prefix}{repository.name}/discussions/{num}"
        commit = repository.commit(title, files, branch=branch)
        url = f"{self.hub.endpoint}/{repository.prefix}{repository.name}/commit/{commit.oid}"
        raise _Answer(200, answer | {"success": True, "commitUrl": url, "commitOid": commit.oid})

    def _list_tree(self, repository: Repository, rest: str) -> None:
        revision, folder = _split_revision(rest)
        files = self._commit(repository, revision).files
        inside = {path: data for path, data in files.items() if not folder or path.startswith(f"{folder}/")}
        if folder and not inside:
            raise _Answer(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound")
        recursive = self.query.get("recursive", "").lower() in ("1", "true")
        depth = folder.count("/") + 1 if folder else 0
        entries = _entries(inside)
        raise _Answer(200, [e for e in entries if recursive or e["path"].count("/") == depth])

    def _discuss(self, repository: Repository, rest: str) -> None:
        if not rest:
            shown = [_discussion(repository, request) for request in repository.pull_requests.values()]
            wanted = {"open": ("open", "draft"), "closed": ("closed", "merged")}.get(self.query.get("status", ""))
            shown = [item for item in shown if wanted is None or item["status"] in wanted]
            raise _Answer(200, {"discussions": shown, "count": len(shown), "start": 0})
        num, _, action = rest.partition("/")
        request = repository.pull_requests.get(int(num))
        if request is None:
            raise _Answer(404, {"error": "Discussion not found"})
        event = {"id": "0", "type": "comment", "createdAt": _DATE, "author": {"name": self.hub.user}}
        if not action:
            details = _discussion(repository, request)
            details |= {"changes": {"base": "refs/heads/main"}, "filesWithConflicts": [], "diff": ""}
            said = [request.description, *request.comments]
            raise _Answer(200, details | {"events": [event | _said(text) for text in said]})
        asked = self._json() if self.body else {}
        if action == "merge":
            repository.merge(request.num)
        elif action == "status":
            request.status = asked["status"]
        if asked.get("comment"):
            request.comments.append(asked["comment"])
        status = {"type": "status-change", "data": {"status": request.status}}
        raise _Answer(200, {"newMessage": event | _said(asked.get("comment", "")), "newStatus": event | status})


def _said(text: str) -> dict[str, Any]:
    return {"data": {"edited": False, "hidden": False, "latest": {"raw": text, "html": ""}}}


def _split_revision(tail: str) -> tuple[str, str]:
    parts = tail.split("/")
    size = 3 if parts[0] == "refs" else 1
    return "/".join(parts[:size]), "/".join(parts[size:])


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _entries(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    entries: list[dict[str, Any]] = [
        {"type": "directory", "oid": hashlib.sha1(folder.encode()).hexdigest(), "size": 0, "path": folder}
        for folder in folders
    ]
    for path, data in files.items():
        entry = {"type": "file", "oid": _blob_id(data), "size": len(data), "path": path}
        if path.endswith(_BINARY):
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
        entries.append(entry)
    return sorted(entries, key=lambda entry: str(entry["path"]))


def _describe(repository: Repository, commit: Commit) -> dict[str, Any]:
    return {
        "id": repository.name, "sha": commit.oid, "private": repository.private, "tags": [], "downloads": 0, "likes": 0,
        "gated": "auto" if repository.gated else False, "disabled": False, "lastModified": _DATE,
        "siblings": [{"rfilename": path} for path in sorted(commit.files)],
    }  # fmt: skip


def _discussion(repository: Repository, request: PullRequest) -> dict[str, Any]:
    return {
        "num": request.num, "title": request.title, "author": {"name": request.author}, "createdAt": _DATE,
        "status": request.status, "isPullRequest": True, "repo": {"name": repository.name, "type": repository.kind},
    }  # fmt: skip
