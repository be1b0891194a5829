"""A sign-up in a test suite: a site asks for an address, sends a code to it, and asks for that code.

    INBOX_BASE_URL=http://127.0.0.1:8080 INBOXD_SMTP=127.0.0.1:2525 INBOX_API_KEY=svc_live_... pytest test_signup.py
"""

import os
import secrets
import smtplib
import threading
import urllib.request
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlencode

import pytest


class Site(BaseHTTPRequestHandler):
    """POST /signup sends a code to `email`; POST /confirm takes `email` and `code`."""

    codes = {}

    def do_POST(self):
        form = {k: v[0] for k, v in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()}
        welcome = self.path == "/signup" or self.codes.get(form["email"]) == form["code"]
        if self.path == "/signup":
            self.mail(form["email"])
        self.send_response(200 if welcome else 403)
        self.end_headers()
        self.wfile.write(b"Welcome" if welcome else b"Wrong code")

    def mail(self, address):
        letter = EmailMessage()
        letter["From"], letter["To"], letter["Subject"] = "site@example.com", address, "Confirm your address"
        self.codes[address] = f"{secrets.randbelow(900000) + 100000}"
        letter.set_content(f"Your verification code is {self.codes[address]}.")
        host, port = os.environ.get("INBOXD_SMTP", "127.0.0.1:2525").split(":")
        with smtplib.SMTP(host, int(port)) as server:
            server.send_message(letter)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield lambda path, **form: urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}", urlencode(form).encode()).read()
    server.shutdown()
    thread.join()
    server.server_close()


def test_sign_up(site, inbox):
    site("/signup", email=inbox.address)
    code = inbox.wait_for_otp()
    assert site("/confirm", email=inbox.address, code=code) == b"Welcome"
