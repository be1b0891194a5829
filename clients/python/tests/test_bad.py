"""Responses that are not from the service, interruptions, restarts, and modified webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import subprocess
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Tuple

import httpx
import pytest
from support import fake, mail, say, serve

from inboxd import ApiError, Inboxd, InboxdError, NotReached, TimedOut, UnexpectedAnswer, WebhookError, verify_webhook


def client(url: str, **more: Any) -> Inboxd:
    return Inboxd(url, "svc_live_x", timeout=5, **more)


def test_html_with_500_is_named_and_asked_again_where_that_is_safe() -> None:
    asked: List[str] = []

    def answer(request: Any, n: int) -> None:
        asked.append(request.command)
        say(request, 500, "<html>oops", Content_Type="text/html")

    with fake(answer) as url, client(url) as c:
        with pytest.raises(UnexpectedAnswer, match="HTTP 500, not from the inbox service: '<html>oops'"):
            c.inbox("a@b.test").latest()
        assert asked == ["GET"] * 3
        with pytest.raises(UnexpectedAnswer):
            c.inbox("a@b.test").delete_message(7)
        assert asked == ["GET"] * 3 + ["DELETE"]


def test_cut_json_and_another_service_are_named() -> None:
    with fake(lambda r, n: say(r, 200, '{"email":{"id":' if "latest" in r.path else '{"hello":1}')) as url, client(url) as c:
        with pytest.raises(UnexpectedAnswer, match="not JSON or is truncated"):
            c.inbox("a@b.test").latest()
        with pytest.raises(UnexpectedAnswer, match="the response is not from the inbox service"):
            c.inbox("a@b.test").get()


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    with fake(lambda r, n: say(r, 200, '{"email"', Content_Length="100") if n == 1 else say(r, 200, '{"email":null}')) as url, client(url) as c:
        assert c.inbox("a@b.test").latest() is None


def test_a_creation_has_one_name_over_its_repeats() -> None:
    names: List[str] = []

    def answer(request: Any, n: int) -> None:
        names.append(request.headers["Idempotency-Key"])
        if n == 2:
            say(request, 503, '{"detail":"busy"}', Retry_After="0")
        elif n == 3:
            say(request, 201, '{"address":"a@b.test"}')

    with fake(answer) as url, client(url) as c:
        assert c.inboxes.create().address == "a@b.test"
    assert len(names) == 3 and len(set(names)) == 1 and len(names[0]) == 36


def test_an_answer_goes_to_who_waits_for_it() -> None:
    bodies: List[Dict[str, Any]] = []

    def take(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(202, json={"message_id": 1})

    def box(email: str) -> Dict[str, str]:
        return {"email": email, "name": ""}

    got: Any = {
        "id": 7, "direction": "in", "encrypted": False, "subject": "AW: Re[2]: Lunch\r\n", "from": box("shop@x.test"), "to": [box("a@b.test")], "reply_to": [],
        "internet_message_id": "1@x.test",
    }
    inbox = Inboxd(http=httpx.Client(transport=httpx.MockTransport(take))).inbox("a@b.test")
    inbox.reply(got, body="Yes")
    inbox.reply({**got, "reply_to": [box(""), box("desk@x.test"), box("boss@x.test")], "subject": None, "internet_message_id": "a b@x"}, cc=["c@x.test"])
    inbox.reply({**got, "direction": "out", "subject": "x" * 300}, subject="Other")
    with pytest.raises(InboxdError, match="has no address to reply to"):
        inbox.reply({**got, "from": box("")})
    with pytest.raises(InboxdError, match="is encrypted"):
        inbox.reply({**got, "encrypted": True})
    assert bodies == [
        {"to": "shop@x.test", "subject": "Re: Lunch", "in_reply_to": "<1@x.test>", "body": "Yes", "cc": []},
        {"to": "desk@x.test", "cc": ["boss@x.test", "c@x.test"], "subject": "Re:"},
        {"to": "a@b.test", "subject": "Other", "in_reply_to": "<1@x.test>", "cc": []},
    ]


def test_settings_that_cannot_work_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("localhost:8080", "127.0.0.1:8080", "ftp://x.test", "http://", "http://x.test/?a=b"):
        with pytest.raises(InboxdError, match="invalid base URL '.*': use a URL such as http://127.0.0.1:8080"):
            Inboxd(url, "svc_live_x")
    monkeypatch.delenv("INBOX_API_KEY", raising=False)
    for key in (None, ""):
        with pytest.raises(InboxdError, match="the API key is missing: set INBOX_API_KEY"):
            Inboxd("http://x.test", key)


def test_refusals_and_redirects_end_a_call() -> None:
    asked: List[int] = []

    def answer(request: Any, n: int) -> None:
        asked.append(n)
        if n == 1:
            say(request, 403, '{"detail":"No","code":"forbidden","field":"to"}', X_Request_Id="r1")
        else:
            say(request, 302, "", Location="http://127.0.0.1:1/")

    with fake(answer) as url, client(url) as c:
        with pytest.raises(ApiError) as refused:
            c.inboxes.create()
        assert (refused.value.status, refused.value.detail, refused.value.request_id) == (403, "No", "r1")
        assert (refused.value.code, refused.value.field) == ("forbidden", "to")
        with pytest.raises(UnexpectedAnswer, match="HTTP 302"):
            c.inbox("a@b.test").get()
    assert asked == [1, 2]


def test_a_call_ends_at_its_time_and_nobody_there_is_named() -> None:
    held = threading.Event()
    with fake(lambda r, n: held.wait(5) and None) as url, Inboxd(url, "k", timeout=0.2) as c:
        for inbox in (c.inbox("a@b.test"), c.with_options(timeout=0.1).inbox("a@b.test"), c.inbox("a@b.test").with_options(timeout=0.1)):
            with pytest.raises(TimedOut, match=f"no response within {inbox._transport.timeout:g} s"):
                inbox.get()
        assert inbox._transport.timeout == 0.1 and c._transport.timeout == 0.2
        held.set()
    with Inboxd("http://127.0.0.1:1", "k", retries=0) as c, pytest.raises(NotReached, match="cannot reach http://127.0.0.1:1"):
        c.inboxes.create()


def test_streams_that_do_not_come_through_become_long_polls() -> None:
    polls: List[str] = []
    held = threading.Event()

    def answer(request: Any, n: int) -> None:
        if request.headers["Accept"] == "text/event-stream":
            say(request, 200, "", Content_Type="text/event-stream")
            held.wait(5)
            return
        polls.append(request.path)
        say(request, 200, '{"events":[],"next":"c1"}' if len(polls) == 1 else '{"events":[{"event":"message.received","inbox":"a@b.test"}],"next":"c2"}')

    with fake(answer) as url, client(url) as c:
        assert next(iter(c.events(silence=0.1)))["cursor"] == "c2"
        held.set()
    assert polls == ["/api/v1/events?after=now", "/api/v1/events?after=c1&wait=50"]


def test_a_line_without_an_end_is_given_up() -> None:
    def answer(request: Any, n: int) -> None:
        say(request, 200, "data: ", Content_Type="text/event-stream")
        for _ in range(5):
            request.wfile.write(b"x" * (1 << 20))

    with fake(answer) as url, client(url) as c, pytest.raises(UnexpectedAnswer, match="line of the stream is too long"):
        next(c.events(after="c1"))


def test_a_wait_passes_over_what_is_deleted_meanwhile() -> None:
    def mail(id: int) -> Dict[str, Any]:
        return {"id": id, "subject": "s", "from": {"name": "", "email": "x@y.test"}, "is_read": False}

    def answer(request: Any, n: int) -> None:
        if "/latest" in request.path:
            return say(request, 200, json.dumps({"email": mail(4 if "after=3" in request.path else 3)}))
        if "/messages?" in request.path:
            return say(request, 200, json.dumps({"emails": [mail(2)], "has_more": False}))
        if "/messages/4/read" in request.path:
            return say(request, 200, '{"claimed":true}')
        say(request, 404, '{"detail":"Message not found"}')

    with fake(answer) as url, client(url) as c:
        assert c.inbox("a@b.test").wait_for_message(timeout=5)["id"] == 4


def test_a_stream_that_breaks_goes_on_where_it_broke() -> None:
    places: List[str] = []

    def answer(request: Any, n: int) -> None:
        if n == 1:
            return say(request, 200, '{"events":[],"next":"c0"}')
        places.append(request.headers["Last-Event-ID"])
        say(request, 200, f"id: c{n}\n\nid: d{n}\nda", Content_Type="text/event-stream")
        request.wfile.flush()
        request.wfile.write(f'ta: {{"event":"message.received","inbox":"{n}\u2028"}}\n\nid: lost\ndata: {{"ev'.encode())

    with fake(answer) as url, client(url) as c:
        seen = []
        for event in c.events():
            seen.append((event["inbox"], event["cursor"]))
            if len(seen) == 2:
                break
    assert seen == [("2\u2028", "d2"), ("3\u2028", "d3")] and places == ["c0", "d2"]


def test_a_wait_and_a_stream_outlive_a_restart() -> None:
    with tempfile.TemporaryDirectory() as folder:
        process, http, smtp = serve(folder)

        def post(path: str, body: Dict[str, Any], token: str = "") -> Dict[str, Any]:
            request = urllib.request.Request(f"http://{http}{path}", json.dumps(body).encode(), {"Authorization": f"Bearer {token}"} if token else {})
            with urllib.request.urlopen(request) as answer:
                return dict(json.load(answer))

        try:
            session = post("/api/auth/signup", {"email": "a@example.com", "password": "correct horse"})["session_token"]
            key = post("/api/keys", {"scopes": ["full"]}, session)["key"]
            with Inboxd(f"http://{http}", key) as c:
                inbox = c.inboxes.create()
                events = inbox.events(after=c._transport.json(_now(inbox.address))["next"])
                mail(inbox.address, "Plain", "nothing", smtp)
                assert next(events)["subject"] == "Plain"
                got: List[Any] = []
                threads = [threading.Thread(target=lambda do=do: got.append(do())) for do in (inbox.wait_for_otp, lambda: next(events)["otp"])]  # type: ignore[misc]
                for thread in threads:
                    thread.start()
                process.kill()
                process.wait()
                process, http, smtp = serve(folder, http, smtp)
                mail(inbox.address, smtp=smtp)
                for thread in threads:
                    thread.join()
                assert got == ["482913", "482913"]
        finally:
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()


def _now(address: str) -> Any:
    from inboxd._core import Call

    return Call("GET", f"/api/v1/inboxes/{address}/events", {"after": "now"})


def test_a_thousand_waits_share_connections() -> None:
    """Ten waits at a time use at most ten connections."""
    opened: List[Any] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def setup(self) -> None:
            opened.append(self.client_address)
            super().setup()

        def do_GET(self) -> None:
            self.send_response(200)
            answer = b'{"email":{"id":%d,"otp_code":"482913","is_read":false}}' % (int(re.findall(r"after=(\d+)", self.path)[0]) + 1)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        with client(f"http://127.0.0.1:{server.server_port}") as c, ThreadPoolExecutor(10) as pool:
            inboxes = [c.inbox("a@b.test") for _ in range(10)]
            codes = pool.map(lambda inbox: [inbox.wait_for_otp(claim=False) for _ in range(100)], inboxes)
            assert [code for some in codes for code in some] == ["482913"] * 1000
    finally:
        server.shutdown()
        server.server_close()
    assert len(opened) <= 10, f"{len(opened)} connections were opened"


SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
BODY = '{"event":"message.received","inbox":"a@b.test","subject":"ü"}'.encode()


def sign(stamp: int, body: bytes = BODY) -> Dict[str, str]:
    mac = hmac.new(base64.b64decode(SECRET[6:]), f"evt_1.{stamp}.".encode() + body, hashlib.sha256)
    return {"Webhook-Id": "evt_1", "webhook-timestamp": str(stamp), "webhook-signature": "v1,bm8= v1," + base64.b64encode(mac.digest()).decode()}


def test_webhooks_are_believed_when_all_is_as_it_was_signed() -> None:
    now = int(time.time())
    assert verify_webhook(BODY, sign(now), SECRET)["event"] == "message.received"
    assert verify_webhook(BODY.decode(), sign(now - 290), SECRET)["inbox"] == "a@b.test"
    bad: List[Tuple[bytes, Dict[str, str], str, str]] = [
        (BODY.replace(b"a@b", b"c@b"), sign(now), SECRET, "No signature matches"),
        (BODY, sign(now), "whsec_AAAA", "No signature matches"),
        (BODY, sign(now - 302), SECRET, "signed 30. seconds ago"),
        (BODY, sign(now + 400), SECRET, "ahead of this clock"),
        (BODY, {}, SECRET, "webhook-id is missing"),
        (BODY, sign(now), "whsec_%", "use whsec_ followed by base64"),
        (BODY, sign(now), "", "use whsec_ followed by base64"),  # anybody could sign with an empty secret
        (b"x", sign(now, b"x"), SECRET, "the body is not an event"),
    ]
    for body, headers, secret, why in bad:
        with pytest.raises(WebhookError, match=why):
            verify_webhook(body, headers, secret)
