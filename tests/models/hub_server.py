"""A small Hub on a local port: the routes that huggingface_hub uses, real sockets, and faults on demand."""

import hashlib
import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

MAIN = "1" * 40
OLD = "2" * 40
_STEP = 64 * 1024


@dataclass
class HostedModel:
    """A repository, with one commit unless `commits` has more, and its faults."""

    files: dict[str, bytes]
    announced_sizes: dict[str, int] = field(default_factory=dict)
    """Sizes in the tree that differ from the files'."""
    commits: dict[str, str] = field(default_factory=lambda: {"main": MAIN})
    """Branch or tag to commit; every commit serves the same files."""
    gated: bool = False
    token: str | None = None
    """The token with access to a gated repository."""
    tags: tuple[str, ...] = ("mlx",)
    downloads: int = 0
    parameters: dict[str, int] = field(default_factory=dict)
    """Number of parameters by dtype, as the Hub reads them from the files."""


@dataclass
class HubServer:
    """Serves models until the `with` block ends; counts requests (`METHOD path`) and bytes of file bodies."""

    models: dict[str, HostedModel] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    sent_bytes: int = 0
    serving: set[int] = field(default_factory=set)
    """Threads that are answering a request, even if its client has disconnected."""
    cut_after: dict[str, int] = field(default_factory=dict)
    """By file name, the number of bytes after which every connection is cut."""
    resets: bool = False
    """Cut connections by a reset, as a network that fails does, instead of closing them."""
    stall_after: dict[str, int] = field(default_factory=dict)
    """By file name, the number of bytes after which sending stops, until the name is removed."""
    ignores_ranges: bool = False
    """Send whole files even if a range is requested."""
    status: int | None = None
    """Answer everything with this error."""
    errors: int | None = None
    """How many more times; always if None."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with `status` and `far_status`."""
    silent: str | None = None
    """Do not answer requests whose address has this, until it is None."""
    far_status: int | None = None
    """Answer requests for large files with this error."""
    far_errors: int | None = None
    """How many more times; always if None."""
    page: bytes | None = None
    """Answer everything with this text, as a network's sign-in page does."""

    def __enter__(self) -> "HubServer":
        server = self

        class Handler(_Handler):
            hub = server

        self._http = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stall_after.clear()
        self.silent = None
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def far_url(self) -> str:
        """The address of large files: by its name another host."""
        return self.url.replace("127.0.0.1", "localhost")

    def count_anew(self) -> None:
        """Set `sent_bytes` to 0 once no request is being answered."""
        end = time.monotonic() + 60
        while self.serving:
            assert time.monotonic() < end, "a client is still served"
            time.sleep(0.01)
        self.sent_bytes = 0

    def downloads(self) -> list[str]:
        """Names of the files that were sent, in order; a redirection sends none."""
        asked = [r.split("/") for r in self.requests if r.startswith("GET")]
        return [p[-1] for p in asked if "cdn" in p or ("resolve" in p and not p[-1].endswith(".safetensors"))]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: a killed client resets its connections."""


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""

    def do_GET(self) -> None:
        self.hub.serving.add(threading.get_ident())
        try:
            self._route()
        finally:
            self.hub.serving.discard(threading.get_ident())

    def _route(self) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        parts = self.path.split("?")[0].strip("/").split("/")
        while self.hub.silent and self.hub.silent in self.path:
            time.sleep(0.02)
        if self.hub.status and self.hub.errors != 0:
            self.hub.errors = self.hub.errors and self.hub.errors - 1
            return self._answer(self.hub.status, self.hub.headers)
        if self.hub.page is not None:
            return self._answer(200, {}, self.hub.page)
        if parts == ["api", "models"]:
            return self._search(parse_qs(urlsplit(self.path).query))
        if parts[0] == "cdn":
            if self.hub.far_status and self.hub.far_errors != 0:
                self.hub.far_errors = self.hub.far_errors and self.hub.far_errors - 1
                return self._answer(self.hub.far_status, self.hub.headers)
            return self._body("/".join(parts[1:3]), parts[-1])
        repo = "/".join(parts[2:4] if parts[0] == "api" else parts[:2])
        model = self.hub.models.get(repo)
        if model is None:
            return self._answer(404, {"X-Error-Code": "RepoNotFound"})
        if "revision" in parts:
            return self._revision(repo, model, parts[-1])
        if "tree" in parts:
            return self._tree(model)
        return self._file(repo, model, parts[3], "/".join(parts[4:]))

    do_HEAD = do_GET

    def _search(self, query: dict[str, list[str]]) -> None:
        words, tags = query["search"][0].lower().split(), set(query.get("filter", ()))
        found = [
            {
                "id": repo,
                "downloads": model.downloads,
                "tags": list(model.tags),
                "gated": "manual" if model.gated else False,
                "safetensors": {"parameters": model.parameters, "total": sum(model.parameters.values())},
            }
            for repo, model in self.hub.models.items()
            if tags <= {*model.tags} and all(word in repo.lower() for word in words)
        ]
        found.sort(key=lambda model: -model["downloads"])  # type: ignore[operator]
        self._answer(200, {}, json.dumps(found[: int(query["limit"][0])]).encode())

    def _revision(self, repo: str, model: HostedModel, revision: str) -> None:
        commit = model.commits.get(revision, revision if revision in model.commits.values() else None)
        if commit is None:
            return self._answer(404, {"X-Error-Code": "RevisionNotFound"})
        info = {"id": repo, "sha": commit, "siblings": [], "gated": "manual" if model.gated else False}
        self._answer(200, {}, json.dumps(info).encode())

    def _tree(self, model: HostedModel) -> None:
        entries: list[dict[str, object]] = [
            {"type": "directory", "path": folder, "oid": "0" * 40}
            for folder in sorted({name.split("/")[0] for name in model.files if "/" in name})
        ]
        for name, body in model.files.items():
            if "/" not in name:
                size = model.announced_sizes.get(name, len(body))
                entry = {"type": "file", "path": name, "size": size, "oid": etag(name, body)}
                if name.endswith(".safetensors"):
                    entry["lfs"] = {"oid": etag(name, body), "size": size, "pointerSize": 130}
                entries.append(entry)
        self._answer(200, {}, json.dumps(entries).encode())

    def _file(self, repo: str, model: HostedModel, commit: str, name: str) -> None:
        if model.gated and self.headers.get("Authorization") != f"Bearer {model.token}":
            status = 403 if self.headers.get("Authorization") else 401
            return self._answer(status, {"X-Error-Code": "GatedRepo"})
        if name not in model.files:
            return self._answer(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        body = model.files[name]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{etag(name, body)}"'}
        if not name.endswith(".safetensors"):
            return self._answer(200, headers, body, name)
        headers |= {"X-Linked-Size": str(len(body)), "X-Linked-ETag": headers["ETag"]}
        self._answer(302, headers | {"Location": f"{self.hub.far_url}/cdn/{repo}/{name}"})

    def _body(self, repo: str, name: str) -> None:
        """Large files come from another host, as on the Hub."""
        body = self.hub.models[repo].files[name]
        headers: dict[str, str] = {}
        if (wanted := self.headers.get("Range")) and not self.hub.ignores_ranges:
            start = int(wanted.removeprefix("bytes=").split("-")[0])
            if start >= len(body):
                return self._answer(416, {"Content-Range": f"bytes */{len(body)}"})
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            return self._answer(206, headers, body[start:], name, start)
        self._answer(200, headers, body, name)

    def _answer(
        self, status: int, headers: dict[str, str], body: bytes = b"", name: str = "", first: int = 0
    ) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self._send(name, body, first)

    def _send(self, name: str, body: bytes, first: int) -> None:
        stop = self.hub.cut_after.get(name)
        body = body if stop is None else body[: max(stop - first, 0)]
        try:
            for start in range(0, len(body), _STEP):
                self.wfile.write(body[start : start + _STEP])
                self.hub.sent_bytes += len(body[start : start + _STEP]) if name else 0
                while self.hub.stall_after.get(name, len(body)) <= start:
                    time.sleep(0.02)
        except OSError:
            self.close_connection = True
        if stop is not None:
            self.close_connection = True
            self.wfile.flush()
            if self.hub.resets:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()


@cache
def etag(name: str, body: bytes) -> str:
    """The Hub names large files by their SHA-256, others as Git does."""
    if name.endswith(".safetensors"):
        return hashlib.sha256(body).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
