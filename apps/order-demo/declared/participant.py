"""What the three participants have in common: they handle a request once, however often it is sent.

The work, its answer and the key of the request are stored in one transaction. The same key again gets the first answer,
and nothing is done. Only the standard library of Python 3 is needed.
"""

import json
import os
import re
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Refused(Exception):
    """Nothing was done, and another attempt would not change that: 409, or 422 for the caller's data."""

    def __init__(self, reason, status=409):
        super().__init__(reason)
        self.status = status


class Crash(Exception):
    """For tries: the work is done, and the process dies before it answers."""


def serve(schema, routes):
    """Serves `(method, pattern, work)` on the port and with the database file of the command line.

    `work(database, body, *groups)` returns the answer, or raises Refused. A GET is not recorded.
    """
    port, path = int(sys.argv[1]), sys.argv[2]
    database = connected(path)
    database.executescript("CREATE TABLE IF NOT EXISTS request (key TEXT PRIMARY KEY, answer TEXT NOT NULL);" + schema)
    database.close()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            for method, pattern, work in routes:
                found = re.fullmatch(pattern, self.path)
                if found and method == self.command:
                    call = lambda db: work(db, json.loads(body or b"null"), *found.groups())
                    return self.answered(path, call, self.headers.get("idempotency-key"))
            self.answer(404, {"reason": "there is nothing at this path"})

        do_GET = do_POST = do_DELETE = handle_any

        def answered(self, path, call, key):
            database = connected(path)
            try:
                if self.command == "GET":
                    return self.answer(200, call(database))
                if not key:
                    return self.answer(422, {"reason": "the header Idempotency-Key is missing"})
                self.answer(200, once(database, key, call))
            except Refused as refusal:
                self.answer(refusal.status, {"reason": str(refusal)})
            except Crash:
                os._exit(9)
            finally:
                database.close()

        def answer(self, status, value):
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def connected(path):
    return sqlite3.connect(path, timeout=30, isolation_level=None)


def once(database, key, call):
    """Does the work of a key once, and returns its answer."""
    database.execute("BEGIN IMMEDIATE")
    try:
        known = database.execute("SELECT answer FROM request WHERE key = ?", (key,)).fetchone()
        crash = False
        if known:
            answer = json.loads(known[0])
        else:
            answer = call(database)
            crash = answer.pop("crash", False)
            database.execute("INSERT INTO request VALUES (?, ?)", (key, json.dumps(answer)))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    if crash:
        raise Crash()
    return answer
