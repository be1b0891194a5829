"""Measures the latency that the Python client adds to a plain long poll, and the memory of 100 streams; see cmd/inboxd/clientfigures_test.go. Prints one line of JSON."""

import asyncio
import json
import os
import smtplib
import threading
import time

import httpx

from inboxd import AsyncInboxd, Inboxd

ROUNDS = int(os.environ["ROUNDS"])
HOST, PORT = os.environ["INBOXD_SMTP"].split(":")


def resident() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    client = Inboxd()
    inbox = client.inboxes.create()
    bare = httpx.Client(base_url=os.environ["INBOX_BASE_URL"], headers={"X-API-Key": os.environ["INBOX_API_KEY"]}, timeout=60)
    began = bare.get(f"/api/v1/inboxes/{inbox.address}/events", params={"after": "now"}).json()["next"]
    shop = smtplib.SMTP(HOST, int(PORT))
    shop.ehlo()
    sent = [0.0]
    mails = 0

    def mail(code: str) -> None:
        time.sleep(0.005)  # by then it waits at the service
        shop.mail("shop@example.com")
        shop.rcpt(inbox.address)
        shop.putcmd("data")
        shop.getreply()
        sent[0] = time.perf_counter()
        shop.send(f"From: shop@example.com\r\nSubject: Sign in\r\n\r\nYour code is {code}\r\n.\r\n")
        shop.getreply()

    def plain() -> str:
        answer = bare.get(f"/api/v1/inboxes/{inbox.address}/latest", params={"wait": 50, "otp": "true", "after": mails})
        return str(answer.json()["email"]["otp_code"])

    took = {"bare": [], "client": []}
    for i in range(2 * ROUNDS):
        code = str(100001 + i)
        sender = threading.Thread(target=mail, args=(code,))
        sender.start()
        got = inbox.wait_for_otp(timeout=50) if i % 2 else plain()
        took["client" if i % 2 else "bare"].append(time.perf_counter() - sent[0])
        sender.join()
        mails += 1
        assert got == code, (got, code)
        if not i % 2:
            inbox.wait_for_otp()  # returns the code that the plain call saw
    shop.quit()

    async def streams() -> int:
        async with AsyncInboxd() as many:
            before = resident()
            each = [many.inbox(inbox.address).events(after=began) for _ in range(100)]
            await asyncio.gather(*(one.__anext__() for one in each))  # each is open and has received its first event
            weight = resident() - before
            for one in each:
                await one.aclose()
            return weight

    weight = asyncio.run(streams())
    inbox.delete()
    p50 = {name: sorted(list)[len(list) // 2] * 1000 for name, list in took.items()}
    print(json.dumps({"bare_ms": p50["bare"], "client_ms": p50["client"], "streams_mb": weight / 2**20}))


main()
