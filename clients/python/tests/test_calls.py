"""Every call, with and without await, against the server at INBOX_BASE_URL."""

from __future__ import annotations

import asyncio
import base64
import os
import threading
import time
import urllib.request
from typing import Any, AsyncIterator, Callable, Iterator, List

import pytest
from support import fake, mail, say

from inboxd import ApiError, AsyncInboxd, Inbox, Inboxd, TimedOut


@pytest.fixture
def guest(inboxd: Inboxd) -> Iterator[Inbox]:
    made = inboxd.inboxes.create()
    yield made
    made.delete()


def later(do: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=do)
    thread.start()
    return thread


def test_a_code_is_handed_out_once(inboxd: Inboxd, inbox: Inbox) -> None:
    thread = later(lambda: mail(inbox.address))
    assert inbox.wait_for_otp() == "482913"
    thread.join()
    with pytest.raises(TimedOut, match="No code arrived at .* within 0.3 s"):
        inbox.wait_for_otp(timeout=0.3)
    mail(inbox.address, text="Your code is 555123")
    assert inboxd.inbox(inbox.address).wait_for_otp() == "555123"  # claims it
    with pytest.raises(TimeoutError):
        inboxd.inbox(inbox.address).wait_for_otp(timeout=0.3)
    mail(inbox.address, subject="No digits", text="Hello")
    with pytest.raises(TimedOut, match=r"What did arrive:\nmessage 3 from shop@\S+, subject 'No digits': no code$") as over:
        inbox.wait_for_otp(timeout=0.3, after=2)
    assert (over.value.message_id, over.value.subject, len(over.value.arrived)) == (3, "No digits", 1)
    with pytest.raises(TimedOut, match="message 2 from .*: code 555123, confidence [01][.][0-9]{2}, already read\n") as over:
        inbox.wait_for_otp(timeout=0, from_="bank")
    assert [one["id"] for one in over.value.arrived] == [3, 2, 1]
    assert inbox.latest(direction="out") is None


def test_messages_are_handed_out_oldest_first(inbox: Inbox) -> None:
    for subject in ["one", "two", "three", "four"]:
        mail(inbox.address, subject)
    assert inbox.wait_for_message(match=lambda m: m["subject"] == "three")["subject"] == "three"
    rest = [inbox.wait_for_message() for _ in range(3)]
    assert [m["subject"] for m in rest] == ["one", "two", "four"]
    assert "html" in rest[0]  # complete, like the others
    with pytest.raises(TimedOut):
        inbox.wait_for_message(timeout=0.3)
    assert inbox.wait_for_message(subject="TWO", after=0)["subject"] == "two"


def test_lists_page_by_themselves(inboxd: Inboxd, inbox: Inbox) -> None:
    for i in range(5):
        mail(inbox.address, f"s{i}")
    assert [m["subject"] for m in inbox.messages(limit=2, fields=["subject"])] == ["s4", "s3", "s2", "s1", "s0"]
    assert sum(m.get("inbox") == inbox.address for m in inboxd.messages(limit=2, subject="s")) == 5
    prefix = f"py{os.getpid()}"
    made = inboxd.inboxes.create_many([{"prefix": prefix + "a"}, {"prefix": prefix + "b"}, {"prefix": "-bad-."}])
    assert isinstance(made[2], ApiError) and (made[2].status, made[2].code, made[2].field) == (422, "validation", "prefix")
    assert len(list(inboxd.inboxes.list(prefix=prefix, limit=1))) == 2
    for one in made[:2]:
        assert isinstance(one, Inbox)
        one.delete()


def test_every_call_on_a_message(inbox: Inbox) -> None:
    mail(inbox.address, "Hello", "A text")
    m = inbox.latest(wait=5)
    assert m is not None
    assert (inbox.message(m["id"])["body"] or "").strip() == "A text"
    assert b"Subject: Hello" in inbox.raw(m["id"])
    inbox.mark(m["id"])
    assert inbox.message(m["id"])["is_read"] and not inbox.claim(m["id"])
    inbox.mark(m["id"], read=False)
    assert inbox.claim(m["id"])
    with pytest.raises(ApiError) as refused:
        inbox.attachment(m["id"], 1)
    assert refused.value.status == 404 and refused.value.request_id
    assert inbox.latest(after="now") is None
    inbox.delete_message(m["id"])
    with pytest.raises(ApiError, match="not found in inbox"):
        inbox.message(m["id"])
    mail(inbox.address)
    assert inbox.delete_messages(before=100) == 1
    mail(inbox.address.replace("@", "+lane@"), "Lane")
    assert inbox.tagged("lane").wait_for_message()["subject"] == "Lane"
    assert inbox.tagged("other").latest() is None
    assert inbox.burn() == 1


def test_every_call_on_an_inbox_and_the_account(inboxd: Inboxd, inbox: Inbox) -> None:
    simulated = inbox.simulate(sender="Shop <shop@example.com>", text="Your code is 482913")
    assert (simulated["otp_code"], simulated["simulated"], simulated["from"]["name"]) == ("482913", True, "Shop")
    assert inbox.update(retention_hours=2)["retention_hours"] == 2
    assert inboxd.inboxes.get(inbox.address).address == inbox.address
    assert list(inboxd.suppressions.list()) == []
    with pytest.raises(ApiError) as refused:
        inboxd.suppressions.delete("nobody@example.com")
    assert refused.value.status == 404
    assert len(inboxd.tools("openai")) == 6


def test_mail_is_sent_settled_and_answered(inbox: Inbox, guest: Inbox) -> None:
    file = {"filename": "a.txt", "content_b64": base64.b64encode(b"hi").decode()}
    sent = inbox.send(to=guest.address, subject="Question", body="Well?", attachments=[file])
    got = guest.wait_for_message()
    assert guest.attachment(got["id"], got["attachments"][0]["id"]) == b"hi"
    assert inbox.wait_until_sent(sent).get("send_status") == "sent"
    guest.reply(got, body="Yes")
    answer = inbox.wait_for_message()
    assert answer["subject"] == "Re: Question" and answer["in_reply_to"] == got["internet_message_id"]
    assert inbox.send(to=guest.address, idempotency_key="k1") == inbox.send(to=guest.address, idempotency_key="k1")
    with pytest.raises(ApiError) as refused:
        inbox.send(to=guest.address, subject="other", idempotency_key="k1")
    assert refused.value.status == 422


def test_every_call_of_the_calendar(inbox: Inbox, guest: Inbox) -> None:
    made = inbox.calendar.create(title="Review", start="2027-03-01T15:00", timezone="Europe/Berlin", attendees=[guest.address])
    id = made["event"]["id"]
    invited = guest.wait_for_message(match=lambda m: m["calendar_event"] is not None)
    assert invited["calendar_event"] is not None
    theirs = invited["calendar_event"]["event_id"]
    assert theirs and guest.calendar.get(theirs)["title"] == "Review"
    assert guest.calendar.answer(theirs, "accepted", "Gladly")["event"]["my_status"] == "accepted"
    replied = inbox.wait_for_message(match=lambda m: m["calendar_event"] is not None and m["calendar_event"]["action"] == "replied")
    assert replied["calendar_event"] and replied["calendar_event"]["event_id"] == id
    assert inbox.calendar.update(id, title="Second review")["event"]["title"] == "Second review"
    assert [m["id"] for m in inbox.calendar.list(from_="2027-01-01")] == [id]
    assert len(inbox.calendar.free_busy("2027-03-01", "2027-03-02")) == 1
    feed = inbox.calendar.feed()["feed_url"]
    with urllib.request.urlopen(feed) as text:
        assert b"SUMMARY:Second review" in text.read()
    assert inbox.calendar.rotate_feed()["feed_url"] != feed
    inbox.calendar.delete_feed()
    assert inbox.calendar.owner()["enabled"] is False
    assert inbox.calendar.set_owner(True)["enabled"] is True
    inbox.calendar.set_owner(False)
    assert inbox.calendar.cancel(id, "Sorry")["event"]["status"] == "cancelled"
    inbox.calendar.remove(id)
    assert [*inbox.calendar.list(include_cancelled=True)] == []


def test_a_refusal_tells_status_sentence_and_request() -> None:
    with Inboxd(api_key="svc_live_wrong") as client, pytest.raises(ApiError) as refused:
        client.inboxes.create()
    assert refused.value.status == 401 and refused.value.detail == "A valid API key is required"
    assert (refused.value.code, refused.value.field) == ("unauthorized", None)
    assert refused.value.request_id in str(refused.value)


@pytest.mark.parametrize("transport", ["stream", "poll"])
def test_events_go_on_behind_a_cursor(inboxd: Inboxd, inbox: Inbox, transport: str) -> None:
    cursor = inboxd._transport.json(__import__("inboxd._core", fromlist=["Call"]).Call("GET", f"/api/v1/inboxes/{inbox.address}/events", {"after": "now"}))["next"]
    mail(inbox.address, "first")
    for event in inbox.events(after=cursor, transport=transport):
        assert event["event"] == "message.received" and event["subject"] == "first"
        cursor = event["cursor"]
        break
    thread = later(lambda: mail(inbox.address, "second"))
    assert next(e for e in inboxd.events(after=cursor, transport=transport) if e["inbox"] == inbox.address)["subject"] == "second"  # others use the account too
    thread.join()


def test_every_call_about_webhooks(inboxd: Inboxd, inbox: Inbox) -> None:
    with fake(lambda request, n: say(request, 200, "thanks")) as url:
        hook, secret = inboxd.webhooks.create(url, "*", inbox=inbox.address)
        assert hook["inbox"] == inbox.address and secret.startswith("whsec_")
        assert inboxd.webhooks.test(hook["id"])["status_code"] == 200
        assert inboxd.webhooks.rotate_secret(hook["id"]) != secret
        assert inboxd.webhooks.update(hook["id"], event="message.received")["event"] == "message.received"
        assert inboxd.webhooks.get(hook["id"]) in inboxd.webhooks.list()
        mail(inbox.address)
        deliveries = []
        end = time.monotonic() + 30
        while not (deliveries and deliveries[0]["state"] == "succeeded") and time.monotonic() < end:
            deliveries = inboxd.webhooks.deliveries(webhook_id=hook["id"], limit=1)
        assert deliveries[0]["response"] == "thanks"
        inboxd.webhooks.redeliver(deliveries[0]["id"])
        inboxd.webhooks.delete(hook["id"])
    with pytest.raises(ApiError, match="Webhook .* not found"):
        inboxd.webhooks.get(hook["id"])


def test_every_call_about_domains(inboxd: Inboxd) -> None:
    assert inboxd.domains.claim("python.example.org")["status"] == "pending"
    assert inboxd.domains.get("python.example.org") in inboxd.domains.list()
    assert inboxd.domains.verify("python.example.org")["checked_at"]
    assert "python.example.org." in inboxd.domains.zone("python.example.org")
    inboxd.domains.release("python.example.org")
    with pytest.raises(ApiError, match="not one of this account's domains"):
        inboxd.domains.get("python.example.org")


def test_keys_and_the_account_with_a_session(inboxd: Inboxd) -> None:
    email = f"python{time.time_ns()}@example.test"
    session = inboxd.sign_up(email, "correct horse")
    key = session.keys.create(label="ci", scopes=["inbox:manage"], expires_in_days=30)
    with Inboxd(api_key=key["key"]) as client:
        address = client.inboxes.create().address
        with pytest.raises(ApiError, match="requires a session token"):
            client.account.get()
    assert session.keys.create_for_inbox(address)["scopes"] == "inbox:read"
    assert [(k["kind"], k["label"]) for k in session.keys.list()] == [("account", "ci"), ("inbox", "")]
    session.keys.revoke_for_inbox(address)
    session.keys.revoke(key["id"])
    assert session.account.get()["usage"]["keys"] == 0
    session.account.change_password("correct horse", "battery staple")
    other = inboxd.log_in(email, "battery staple")
    ids = [s["id"] for s in other.account.sessions() if not s["current"]]
    session.account.log_out()
    assert ids and ids[0] not in [s["id"] for s in other.account.sessions()]
    assert other.account.set_encryption("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")["enabled"]
    assert not other.account.delete_encryption("battery staple")["enabled"]
    other.account.request_verification()
    other.account.request_password_reset(email)
    for confirm in (lambda: other.account.confirm_verification("x"), lambda: other.account.confirm_password_reset("x", "battery staple")):
        with pytest.raises(ApiError) as refused:
            confirm()
        assert refused.value.status == 400
    third = other.log_in(email, "battery staple")
    third.account.end_session(next(s["id"] for s in third.account.sessions() if not s["current"]))
    with pytest.raises(ApiError) as refused:
        other.account.get()
    assert refused.value.status == 401


def test_the_same_with_await() -> None:
    async def main() -> None:
        async with AsyncInboxd() as client:
            one = await client.inboxes.create()
            events = one.events()
            first = asyncio.ensure_future(events.__anext__())
            waiting = asyncio.ensure_future(one.wait_for_otp())
            await asyncio.sleep(0.05)
            await asyncio.to_thread(mail, one.address)
            assert await waiting == "482913"
            # a message that arrives before the stream begins is before its "now"
            if not first.done():
                await asyncio.to_thread(mail, one.address, "again")
            assert (await first)["event"] == "message.received"
            await events.aclose()
            assert [m["subject"] async for m in one.messages(limit=1)][-1] == "Sign in"
            wait = asyncio.ensure_future(one.wait_for_message(timeout=20, subject="never"))
            await asyncio.sleep(0.05)
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait
            await one.burn()
            both = [asyncio.ensure_future(one.wait_for_otp()) for _ in range(2)]
            await asyncio.to_thread(mail, one.address, text="Your code is 482914")
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result() for task in done] == ["482914"]
            await asyncio.to_thread(mail, one.address, text="Your code is 555123")
            assert sorted(await asyncio.gather(*both)) == ["482914", "555123"]
            await one.delete()

    asyncio.run(main())
