#!/usr/bin/env python3
"""A small Hugging Face Hub for tests: the API, `resolve`, and a second host for large files.

    hub_server.py FOLDER

- FOLDER/models/ORG/NAME/REVISION/FILES has the files (NAME/REVISION for models without an organization). Slashes of a
  revision are written as `%2F`.
- FOLDER/faults.json lists errors to simulate and is read at every request. An entry has "match" (part of "METHOD PATH"),
  "times" (absent: always) and "after" (requests to let pass first). It also has one of these:
  "status" with "headers",
  "cut" (bytes before the connection closes), "ignore_range", "gzip", "wrong_size", "wrong_bytes", "delay" (seconds before
  each megabyte), "redirect" (a path of the hub).
- FOLDER/log.jsonl gets a line per request: host, method, path, authorization, range, status, and bytes sent.

Prints the address of the hub, 127.0.0.1. Large files are redirected to another port of the server, under the name localhost.
"""

import email.utils
import gzip
import hashlib
import http.server
import json
import pathlib
import socketserver
import sys
import threading
import time
import urllib.parse

LARGE_ENDINGS = (".safetensors", ".bin", ".gguf")
TOKEN = "Bearer hf_right"
MEGABYTE = 1 << 20


class Repositories:
    """The files in the folder, read again for each request."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.fault_uses = {}
        self.checksums = {}

    def options(self, repo):
        """{"gated": true, "private": true, "renamed": "org/new"} of FOLDER/models/ORG/NAME.json."""
        path = self.folder / "models" / (repo + ".json")
        return json.loads(path.read_text()) if path.exists() else {}

    def revisions(self, repo):
        folder = self.folder / "models" / repo
        names = [path.name for path in sorted(folder.iterdir()) if path.is_dir()] if folder.is_dir() else []
        return [urllib.parse.unquote(name) for name in names]

    def commit_of(self, repo, revision):
        return hashlib.sha1(f"{repo}@{revision}".encode()).hexdigest()

    def find_revision(self, repo, wanted):
        """The name of a branch, a tag, a commit, or the first digits of one."""
        for revision in self.revisions(repo):
            commit = self.commit_of(repo, revision)
            if wanted == revision or (len(wanted) >= 5 and commit.startswith(wanted)):
                return revision
        return None

    def folder_of(self, repo, revision):
        return self.folder / "models" / repo / urllib.parse.quote(revision, safe="")

    def etag_of(self, path):
        key = (path, path.stat().st_mtime_ns, path.stat().st_size)
        if key not in self.checksums:
            content = path.read_bytes()
            if path.name.endswith(LARGE_ENDINGS):
                self.checksums[key] = hashlib.sha256(content).hexdigest()
            else:
                self.checksums[key] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        return self.checksums[key]

    def fault_of(self, request):
        path = self.folder / "faults.json"
        if not path.exists():
            return {}
        text = path.read_text()
        with self.lock:
            for index, fault in enumerate(json.loads(text)):
                if fault["match"] not in request:
                    continue
                key = (text, index)
                self.fault_uses[key] = self.fault_uses.get(key, 0) + 1
                if 0 < self.fault_uses[key] - fault.get("after", 0) <= fault.get("times", 1 << 30):
                    return fault
        return {}

    def log(self, entry):
        with self.lock, open(self.folder / "log.jsonl", "a") as file:
            file.write(json.dumps(entry) + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    repositories = None
    other_port = 0
    host = ""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        self.status, self.sent = 0, 0
        self.fault = self.repositories.fault_of(f"{self.command} {self.host} {self.path}")
        try:
            self.route()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        self.repositories.log({
            "host": self.host, "name": self.headers.get("Host", ""), "method": self.command, "path": self.path,
            "authorization": self.headers.get("Authorization", ""), "range": self.headers.get("Range", ""),
            "status": self.status, "sent": self.sent})

    def route(self):
        if "status" in self.fault:
            return self.give(self.fault["status"], self.fault.get("headers", {}), b"a fault")
        if "redirect" in self.fault:
            return self.give(307, {"Location": self.fault["redirect"]}, b"")
        path = urllib.parse.urlsplit(self.path).path
        if self.host == "cdn":
            _, repo, revision, name = [urllib.parse.unquote(part) for part in path.split("/", 3)]
            return self.give_file(self.repositories.folder_of(urllib.parse.unquote(repo), revision) / name, {})
        if path.startswith("/api/models/"):
            return self.api(path[len("/api/models/"):])
        return self.resolve(path[1:])

    def is_refused(self, repo, is_file):
        options = self.repositories.options(repo)
        token = self.headers.get("Authorization")
        if token is not None and token != TOKEN:
            self.error(401, "", "Invalid credentials in Authorization header")
        elif "renamed" in options:
            self.give(307, {"Location": self.path.replace(repo, options["renamed"])}, b"")
        elif not self.repositories.revisions(repo) or (options.get("private") and token != TOKEN):
            self.error(401 if token is None else 404, "RepoNotFound", "Repository not found")
        elif is_file and options.get("gated"):
            self.error(401 if token is None else 403, "GatedRepo", "Access to this model is restricted")
        else:
            return False
        return True

    def api(self, path):
        repo, _, rest = path.partition("/revision/")
        if path.endswith("/refs"):
            repo = path[:-len("/refs")]
        elif "/tree/" in path:
            repo, _, rest = path.partition("/tree/")
        if self.is_refused(repo, is_file=False):
            return
        if path.endswith("/refs"):
            names = self.repositories.revisions(repo)
            branches = [{"name": name, "ref": "refs/heads/" + name, "targetCommit": self.repositories.commit_of(repo, name)}
                        for name in names if not name.startswith("v")]
            tags = [{"name": name, "ref": "refs/tags/" + name, "targetCommit": self.repositories.commit_of(repo, name)}
                    for name in names if name.startswith("v")]
            return self.give_json({"branches": branches, "tags": tags, "converts": []})
        revision = self.repositories.find_revision(repo, urllib.parse.unquote(rest) or "main")
        if revision is None:
            return self.error(404, "RevisionNotFound", "Invalid rev id")
        folder = self.repositories.folder_of(repo, revision)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        facts = [(path.relative_to(folder).as_posix(), path.stat().st_size, self.repositories.etag_of(path)) for path in files]
        if "/tree/" in path:
            return self.give_json([{"type": "file", "path": name, "size": size, "oid": etag[:40],
                                    **({"lfs": {"oid": etag, "size": size, "pointerSize": 130}} if len(etag) == 64 else {})}
                                   for name, size, etag in facts])
        commit = self.repositories.commit_of(repo, revision)
        siblings = [{"rfilename": name, "size": size, "blobId": etag[:40],
                     **({"lfs": {"sha256": etag, "size": size, "pointerSize": 130}} if len(etag) == 64 else {})}
                    for name, size, etag in facts]
        self.give_json({"id": repo, "modelId": repo, "sha": commit, "siblings": siblings, "private": False, "tags": [], "downloads": 0,
                        "likes": 0})

    def resolve(self, path):
        repo, _, rest = path.partition("/resolve/")
        revision, _, name = rest.partition("/")
        revision, name = urllib.parse.unquote(revision), urllib.parse.unquote(name)
        if self.is_refused(repo, is_file=True):
            return
        found = self.repositories.find_revision(repo, revision)
        if found is None:
            return self.error(404, "RevisionNotFound", "Invalid rev id")
        commit = self.repositories.commit_of(repo, found)
        path = self.repositories.folder_of(repo, found) / name
        if not path.is_file():
            return self.error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        headers = {"X-Repo-Commit": commit, "ETag": f'"{self.repositories.etag_of(path)}"', "Accept-Ranges": "bytes"}
        if not path.name.endswith(LARGE_ENDINGS):
            return self.give_file(path, headers)
        headers["X-Linked-Etag"] = headers.pop("ETag")
        headers["X-Linked-Size"] = str(path.stat().st_size + self.fault.get("wrong_size", 0))
        headers["Location"] = (f"http://localhost:{self.other_port}/" + urllib.parse.quote(repo, safe="") + "/"
                               + urllib.parse.quote(found, safe="") + "/" + urllib.parse.quote(name) + f"?signed={time.time_ns()}")
        self.give(302, headers, b"Found. Redirecting")

    def give_file(self, path, headers):
        size = path.stat().st_size
        first, last, status = 0, size - 1, 200
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and "ignore_range" not in self.fault:
            begin, _, end = wanted[len("bytes="):].partition("-")
            first, last, status = int(begin), min(int(end) if end else last, last), 206
            if first > last:
                return self.give(416, {"Content-Range": f"bytes */{size}"}, b"")
            headers = {**headers, "Content-Range": f"bytes {first}-{last}/{size}"}
        with open(path, "rb") as file:
            file.seek(first)
            body = file.read(last + 1 - first)
        if "wrong_bytes" in self.fault:
            body = bytes(byte ^ 1 for byte in body[:1]) + body[1:]
        if "gzip" in self.fault and self.command == "GET":
            headers = {**headers, "Content-Encoding": "gzip"}
            body = gzip.compress(body)
        self.give(status, headers, body)

    def give_json(self, value):
        self.give(200, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def error(self, status, code, message, headers=None):
        named = {"X-Error-Code": code} if code else {}
        self.give(status, {**named, "X-Error-Message": message, **(headers or {})}, json.dumps({"error": message}).encode())

    def give(self, status, headers, body):
        self.status = status
        self.send_response_only(status)
        self.send_header("Date", email.utils.formatdate(usegmt=True))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        end = self.fault.get("cut", len(body))
        for begin in range(0, min(end, len(body)), MEGABYTE):
            time.sleep(self.fault.get("delay", 0))
            part = body[begin:min(begin + MEGABYTE, end)]
            self.wfile.write(part)
            self.sent += len(part)
        if "cut" in self.fault:
            self.wfile.flush()
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


def serve(folder, host):
    handler = type(host, (Handler,), {"repositories": folder, "host": host})
    return Server(("127.0.0.1", 0), handler)


def main():
    repositories = Repositories(pathlib.Path(sys.argv[1]))
    hub, cdn = serve(repositories, "hub"), serve(repositories, "cdn")
    hub.RequestHandlerClass.other_port = cdn.server_port
    threading.Thread(target=cdn.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{hub.server_port}", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), hub.shutdown())).start()  # it ends with whoever started it
    hub.serve_forever()


if __name__ == "__main__":
    main()
