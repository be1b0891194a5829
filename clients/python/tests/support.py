"""Messages over SMTP, fake servers, and inboxd as a process."""

from __future__ import annotations

import os
import re
import smtplib
import subprocess
import threading
from contextlib import contextmanager
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Callable, Iterator, List, Tuple


def mail(to: str, subject: str = "Sign in", text: str = "Your code is 482913", smtp: str = "") -> None:
    host, port = (smtp or os.environ["INBOXD_SMTP"]).split(":")
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = "Shop <shop@example.com>", to, subject
    letter["Message-ID"] = f"<{os.urandom(8).hex()}@example.com>"
    letter.set_content(text)
    with smtplib.SMTP(host, int(port)) as server:
        server.send_message(letter, "shop@example.com", [to])


@contextmanager
def fake(answer: Callable[[BaseHTTPRequestHandler, int], None]) -> Iterator[str]:
    """A server whose responses are written by answer(request, number of the request)."""
    asked: List[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append(1)
            self.close_connection = True
            answer(self, len(asked))

        do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = do

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def say(request: BaseHTTPRequestHandler, status: int, body: str, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body.encode())


def serve(folder: str, http: str = "127.0.0.1:0", smtp: str = "127.0.0.1:0") -> Tuple["subprocess.Popen[str]", str, str]:
    process = subprocess.Popen([os.environ["INBOXD_BIN"], "serve", "--data", folder, "--http", http, "--smtp", smtp], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    ready = re.search(r"ready http=(\S+) smtp=(\S+)", process.stdout.readline())
    assert ready, "the server did not start"
    return process, ready[1], ready[2]
