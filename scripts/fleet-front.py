"""ClickHouse's HTTP interface over chdb, for development: fleet-front.py DIR [PORT].

What a client of the fleet needs, and no more: POST with the statement in the body or in `query`, `database`, settings
and `param_` in the URL, gzip, `X-ClickHouse-User` and `-Key` against FLEET_FRONT_PASSWORD, exceptions as the server
tells them. It is a stand-in: one statement at a time, no users, no buffers of inserts, no TLS.
"""

import gzip
import os
import re
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import chdb

# Parameters of the URL that are no settings.
OWN = {"query", "database", "default_format"}
# Settings of the HTTP interface that an embedded engine has no use for.
OF_HTTP = {"wait_end_of_query"}
# What the server answers with these codes; with every other, 500 or 400.
STATUS = {516: 403, 497: 403, 60: 404, 81: 404, 16: 404}
PASSWORD = os.environ.get("FLEET_FRONT_PASSWORD", "")

one_at_a_time = threading.Lock()
engine = None


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def run(parameters, body):
    """The answer's bytes."""
    own = {name: value for name, value in parameters if name in OWN}
    settings = [(name, value) for name, value in parameters if name not in OWN | OF_HTTP]
    insert = re.fullmatch(r"(INSERT .*) FORMAT (\w+)\s*", own.get("query", ""), re.S)
    statement = (own["query"].encode() + b"\n" if "query" in own else b"") + body
    if not re.fullmatch(r"\w+", own.get("database", "default")):
        raise RuntimeError("Code: 81. DB::Exception: Database does not exist. (UNKNOWN_DATABASE)")
    with one_at_a_time:
        engine.query(f"USE `{own.get('database', 'default')}`")
        done = []
        try:
            for name, value in settings:
                if not re.fullmatch(r"\w+", name):
                    raise RuntimeError("Code: 115. DB::Exception: Unknown setting. (UNKNOWN_SETTING)")
                engine.query(f"SET {name} = {quoted(value)}")
                done.append(name)
            if insert and body:
                # Rows behind a statement would be searched for its end.
                with tempfile.NamedTemporaryFile(suffix=".rows") as rows:
                    rows.write(body)
                    rows.flush()
                    engine.query(f"{insert[1]} FROM INFILE {quoted(rows.name)} FORMAT {insert[2]}")
                return b""
            answer = engine.query(statement, own.get("default_format", "TabSeparated"))
            return bytes(answer.bytes()) if answer is not None else b""
        finally:
            for name in done:
                if not name.startswith("param_"):
                    engine.query(f"SET {name} = DEFAULT")


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, code=None):
        self.send_response(status)
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def do_GET(self):
        if urlsplit(self.path).path == "/ping":
            self.answer(200, b"Ok.\n")
        else:
            self.serve(b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.serve(body)

    def serve(self, body):
        if PASSWORD and self.headers.get("X-ClickHouse-Key", "") != PASSWORD:
            said = b"Code: 516. DB::Exception: default: Authentication failed. (AUTHENTICATION_FAILED)\n"
            self.answer(403, said, 516)
            return
        try:
            parameters = parse_qsl(urlsplit(self.path).query, keep_blank_values=True)
            self.answer(200, run(parameters, body))
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:
            said = str(error)
            found = re.search(r"Code: (\d+)", said)
            code = int(found[1]) if found else 1
            self.answer(STATUS.get(code, 500), (said + "\n").encode(), code)


def main():
    global engine
    directory = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    engine = chdb.connect(directory)
    server = ThreadingHTTPServer(("127.0.0.1", port), Front)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    # Whoever started it may end without a word: then its pipe is closed.
    if not sys.stdin.isatty():
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


main()
