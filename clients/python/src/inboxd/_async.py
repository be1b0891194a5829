"""The client. _sync.py is this file without await, made by generate.py."""

from __future__ import annotations

import asyncio
import json
import time as clock
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import Any, AsyncGenerator, Callable, Dict, List, Optional, Sequence, Type, TypeVar, Union, cast

import httpx

from ._core import (
    LONGEST_PAUSE, POLL_SECONDS, WINDOW, Blocks, Call, Handed, Moment, asked_pause, back_off, credential, decoded, given, inbox_path, may_repeat,
    once, passes, place, refusal, skew,
)
from .contract import Arranged, CalendarFeed, CreatedInbox, InboxOrder, Meeting, Message, OwnerCopies, Suppression
from .contract import Inbox as InboxInfo
from .errors import ApiError, InboxdError, NotReached, TimedOut, UnexpectedAnswer

Json = Dict[str, Any]
Self = TypeVar("Self", bound="AsyncInboxd")


class AsyncTransport:
    """Makes calls: names them, repeats what may be repeated, and says what went wrong."""

    def __init__(self, base_url: Optional[str], api_key: Optional[str], timeout: float, retries: int, http: Optional[httpx.AsyncClient]) -> None:
        self.base = place(base_url)
        self.timeout = timeout
        self.retries = retries
        self.skew = 0.0
        self.headers = {"Accept": "application/json", **credential(api_key)}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        self.own = http is None
        self.http = http or httpx.AsyncClient(limits=limits)

    async def json(self, call: Call, timeout: Optional[float] = None) -> Any:
        """Make a call and return its answer, decoded."""
        response = await self._attempts(call, timeout)
        return decoded(call, response.status_code, response.content)

    async def bytes(self, call: Call, timeout: Optional[float] = None) -> bytes:
        """Make a call and return the body of its answer."""
        return (await self._attempts(call, timeout)).content

    async def _attempts(self, call: Call, timeout: Optional[float]) -> httpx.Response:
        time_left = self.timeout if timeout is None else timeout
        end = clock.monotonic() + time_left
        n = 0
        while True:
            try:
                response = await self.open(call, max(0.001, end - clock.monotonic()))
                if call.member:
                    decoded(call, response.status_code, response.content)
                return response
            except InboxdError as err:
                if isinstance(err, TimedOut):
                    raise TimedOut(f"{call}: no answer within {time_left:g} s") from err
                pause = max(back_off(n), asked_pause(err))
                if n >= self.retries or not may_repeat(call, err) or clock.monotonic() + pause > end or pause > LONGEST_PAUSE:
                    raise
            await asyncio.sleep(pause)
            n += 1

    def request(self, call: Call, timeout: httpx.Timeout) -> httpx.Request:
        headers = {**self.headers, **call.headers}
        content = None
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(call.body).encode()
        return self.http.build_request(call.method, self.base + call.path, params=call.params(), content=content, headers=headers, timeout=timeout)

    async def open(self, call: Call, timeout: float, stream: bool = False, silence: Optional[float] = None) -> httpx.Response:
        """Make one attempt; of a stream the caller reads the body."""
        limits = httpx.Timeout(timeout, read=silence or timeout)
        try:
            response = await self.http.send(self.request(call, limits), stream=stream, follow_redirects=False)
            if stream and not response.is_success:
                await response.aread()
                await response.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as err:
            raise NotReached(f"{call}: {self.base} was not reached: {err or type(err).__name__}", sent=False) from err
        except httpx.TimeoutException as err:
            raise TimedOut(f"{call}: no answer within {timeout:g} s") from err
        except (httpx.TransportError, httpx.StreamError) as err:
            raise NotReached(f"{call}: the connection to {self.base} broke: {err or type(err).__name__}") from err
        self.skew = skew(response.headers.get("Date"))
        if not response.is_success:
            raise refusal(call, response.status_code, response.headers, response.content)
        return response


async def _pages(transport: AsyncTransport, path: str, member: str, query: Json, cursor: str = "next_cursor") -> AsyncGenerator[Any, None]:
    """Go through a list that is told in pages."""
    while True:
        page = await transport.json(Call("GET", path, query, safe=True, member=member))
        for one in page[member]:
            yield one
        if not page.get(cursor):
            return
        query = {**query, "cursor": page[cursor]}


class AsyncCalendar:
    """The calendar of an inbox: ``inbox.calendar``."""

    def __init__(self, transport: AsyncTransport, address: str) -> None:
        self._transport = transport
        self._address = address

    def _path(self, *rest: Any) -> str:
        return inbox_path(self._address, "calendar", *rest)

    async def list(self, *, from_: Optional[Moment] = None, to: Optional[Moment] = None, include_cancelled: bool = False) -> AsyncGenerator[Meeting, None]:
        """Meetings, soonest first. Needs inbox:read."""
        query = given(**{"from": from_}, to=to, include_cancelled=include_cancelled or None)
        async for one in _pages(self._transport, self._path("events"), "events", query):
            yield one

    async def get(self, id: int) -> Meeting:
        """One meeting as it is now. Needs inbox:read."""
        answer = await self._transport.json(Call("GET", self._path("events", id), safe=True, member="event"))
        return cast(Meeting, answer["event"])

    async def create(
        self, *, title: str, start: str, attendees: Sequence[Union[str, Json]], end: Optional[str] = None, duration_minutes: Optional[int] = None,
        timezone: Optional[str] = None, all_day: Optional[bool] = None, location: Optional[str] = None, description: Optional[str] = None,
        message: Optional[str] = None, in_reply_to: Optional[str] = None, idempotency_key: Optional[str] = None,
    ) -> Arranged:
        """Set up a meeting and invite to it; a time without an offset needs ``timezone``. Needs email:send."""
        order = given(
            title=title, start=start, attendees=[*attendees], end=end, duration_minutes=duration_minutes, timezone=timezone, all_day=all_day,
            location=location, description=description, message=message, in_reply_to=in_reply_to,
        )
        return await self._order(self._path("events"), order, idempotency_key)

    async def update(
        self, id: int, *, title: Optional[str] = None, start: Optional[str] = None, end: Optional[str] = None, duration_minutes: Optional[int] = None,
        timezone: Optional[str] = None, all_day: Optional[bool] = None, location: Optional[str] = None, description: Optional[str] = None,
        attendees: Optional[Sequence[Union[str, Json]]] = None, message: Optional[str] = None,
    ) -> Arranged:
        """Change a meeting that this inbox organizes. Needs email:send."""
        change = given(
            title=title, start=start, end=end, duration_minutes=duration_minutes, timezone=timezone, all_day=all_day, location=location,
            description=description, attendees=None if attendees is None else [*attendees], message=message,
        )
        return cast(Arranged, await self._transport.json(Call("PATCH", self._path("events", id), body=change, member="event")))

    async def cancel(self, id: int, message: Optional[str] = None, *, idempotency_key: Optional[str] = None) -> Arranged:
        """Cancel a meeting that this inbox organizes; ``message`` stands in the mail to the guests. Needs email:send."""
        return await self._order(self._path("events", id, "cancel"), given(message=message), idempotency_key)

    async def answer(self, id: int, response: str, comment: Optional[str] = None, *, idempotency_key: Optional[str] = None) -> Arranged:
        """Answer an invitation: accepted, declined or tentative. Needs email:send."""
        return await self._order(self._path("events", id, "rsvp"), given(response=response, comment=comment), idempotency_key)

    async def free_busy(self, from_: Moment, to: Moment) -> List[Json]:
        """What is taken between two times, at most 92 days apart. Needs inbox:read."""
        answer = await self._transport.json(Call("GET", self._path("freebusy"), {"from": from_, "to": to}, safe=True, member="busy"))
        return cast(List[Json], answer["busy"])

    async def feed(self) -> CalendarFeed:
        """The link that calendar programs follow; made by the first call. Needs inbox:read."""
        return cast(CalendarFeed, await self._transport.json(Call("GET", self._path("feed"), safe=True, member="feed_url")))

    async def rotate_feed(self, *, idempotency_key: Optional[str] = None) -> CalendarFeed:
        """Replace the link; the old one stops at once. Needs inbox:manage."""
        call = Call("POST", self._path("feed", "rotate"), headers=once(idempotency_key), safe=True, member="feed_url")
        return cast(CalendarFeed, await self._transport.json(call))

    async def delete_feed(self) -> None:
        """Turn the link off. Needs inbox:manage."""
        await self._transport.json(Call("DELETE", self._path("feed"), safe=True, member="enabled"))

    async def owner(self) -> OwnerCopies:
        """Whether the account's owner gets copies. Needs an account key with inbox:read."""
        return cast(OwnerCopies, await self._transport.json(Call("GET", self._path("owner"), safe=True, member="enabled")))

    async def set_owner(self, enabled: bool) -> OwnerCopies:
        """Say whether the account's owner gets copies. Needs an account key with inbox:manage."""
        return cast(OwnerCopies, await self._transport.json(Call("PUT", self._path("owner"), body={"enabled": enabled}, safe=True, member="enabled")))

    async def _order(self, path: str, body: Json, key: Optional[str]) -> Arranged:
        return cast(Arranged, await self._transport.json(Call("POST", path, body=body, headers=once(key), safe=True, member="event")))


class AsyncInbox:
    """An inbox. Nothing is asked of the service until a method is awaited."""

    def __init__(self, transport: AsyncTransport, address: str, info: Union[CreatedInbox, InboxInfo, None] = None, own: bool = False) -> None:
        self.address = address  #: ``prefix@namespace``
        self.info = info  #: the answer that this object was made of, None of ``client.inbox(address)``
        self.calendar = AsyncCalendar(transport, address)
        self._transport = transport
        self._own = own
        self._handed = Handed()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    def tagged(self, tag: str) -> "AsyncInbox":
        """The inbox with a tag: lists, latest, waits and events are of what came to ``user+tag@host`` alone."""
        local, _, domain = self.address.rpartition("@")
        return AsyncInbox(self._transport, f"{local}+{tag}@{domain}", own=self._own)

    def _path(self, *rest: Any) -> str:
        return inbox_path(self.address, *rest)

    async def get(self) -> InboxInfo:
        """The inbox as it is now. Needs inbox:read."""
        return cast(InboxInfo, (await self._transport.json(Call("GET", self._path(), safe=True, member="inbox")))["inbox"])

    async def update(self, *, label: Optional[str] = None, retention_hours: Optional[int] = None, keep_newest: Optional[bool] = None) -> InboxInfo:
        """Change label, retention or what happens when it is full. Needs inbox:manage."""
        change = given(label=label, retention_hours=retention_hours, keep_newest=keep_newest)
        return cast(InboxInfo, (await self._transport.json(Call("PATCH", self._path(), body=change, safe=True, member="inbox")))["inbox"])

    async def delete(self) -> None:
        """Delete the inbox with its mail, for good. Needs inbox:manage."""
        await self._transport.json(Call("DELETE", self._path(), member="ok"))

    async def burn(self) -> int:
        """Delete all mail and keep the address; return how many went. Needs inbox:manage."""
        return int((await self._transport.json(Call("POST", self._path("burn"), member="deleted")))["deleted"])

    async def latest(
        self, *, wait: int = 0, after: Union[int, str, None] = None, since: Optional[Moment] = None, to: Optional[str] = None, otp: Optional[bool] = None,
        from_: Optional[str] = None, subject: Optional[str] = None, fields: Union[str, Sequence[str], None] = None, timeout: Optional[float] = None,
    ) -> Optional[Message]:
        """The newest received message that fits, None when there is none; ``wait`` (seconds, at most 60) lets it come. Needs inbox:read."""
        query = given(wait=wait or None, after=after, since=since, to=to, otp=otp, subject=subject, fields=fields, **{"from": from_})
        limit = self._transport.timeout + wait if timeout is None else timeout
        answer = await self._transport.json(Call("GET", self._path("latest"), query, safe=True, member="email"), limit)
        return cast(Optional[Message], answer["email"])

    async def messages(
        self, *, limit: Optional[int] = None, before: Optional[int] = None, direction: Optional[str] = None, to: Optional[str] = None,
        since: Optional[Moment] = None, unread: Optional[bool] = None, q: Optional[str] = None, include: Union[str, Sequence[str], None] = None,
        fields: Union[str, Sequence[str], None] = None,
    ) -> AsyncGenerator[Message, None]:
        """Go through the messages, newest first; ``limit`` is the size of a page. Needs inbox:read."""
        picked = fields.split(",") if isinstance(fields, str) else fields
        names = None if not picked else [*dict.fromkeys(["id", *picked])]  # pages go by ids
        query = given(limit=limit, direction=direction, to=to, since=since, unread=unread, q=q, include=include, fields=names)
        while True:
            page = await self._transport.json(Call("GET", self._path("messages"), {**query, "before": before}, safe=True, member="emails"))
            for one in page["emails"]:
                yield one
            if not page["has_more"] or not page["emails"]:
                return
            before = page["emails"][-1]["id"]

    async def message(self, id: int) -> Message:
        """One message. Needs inbox:read."""
        return cast(Message, (await self._transport.json(Call("GET", self._path("messages", id), safe=True, member="email")))["email"])

    async def raw(self, id: int) -> bytes:
        """A message as it was received, RFC 5322. Needs inbox:read."""
        return await self._transport.bytes(Call("GET", self._path("messages", id, "raw"), safe=True, headers={"Accept": "*/*"}))

    async def attachment(self, message: int, id: int) -> bytes:
        """The bytes of an attachment. Needs inbox:read."""
        return await self._transport.bytes(Call("GET", self._path("messages", message, "attachments", id), safe=True, headers={"Accept": "*/*"}))

    async def mark(self, id: int, read: bool = True) -> None:
        """Mark a message as read, or as unread. Needs inbox:read."""
        await self._transport.json(Call("POST", self._path("messages", id, "read"), body={"read": read}, safe=True, member="ok"))

    async def claim(self, id: int) -> bool:
        """Mark a message as read; False when it was: of several that claim one, one gets True. Needs inbox:read."""
        return bool((await self._transport.json(Call("POST", self._path("messages", id, "read"), body={"claim": True}, member="claimed")))["claimed"])

    async def delete_message(self, id: int) -> None:
        """Delete one message. Needs message:write."""
        await self._transport.json(Call("DELETE", self._path("messages", id), member="ok"))

    async def delete_messages(self, *, before: Optional[int] = None, older_than: Optional[int] = None) -> int:
        """Delete the messages with a lower id, or those older than so many hours; return how many went. Needs message:write."""
        call = Call("DELETE", self._path("messages"), given(before=before, older_than=older_than), member="deleted")
        return int((await self._transport.json(call))["deleted"])

    async def send(
        self, *, to: str, subject: Optional[str] = None, body: Optional[str] = None, html: Optional[str] = None, cc: Optional[Sequence[str]] = None,
        bcc: Optional[Sequence[str]] = None, attachments: Optional[Sequence[Json]] = None, in_reply_to: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> int:
        """Queue a mail and return the id of its message: it is accepted, not yet delivered. Needs email:send.

        ``attachments`` are ``{"filename", "content_b64", "content_type"}``.
        """
        letter = given(
            to=to, subject=subject, body=body, html=html, cc=None if cc is None else [*cc], bcc=None if bcc is None else [*bcc],
            attachments=None if attachments is None else [*attachments], in_reply_to=in_reply_to,
        )
        call = Call("POST", self._path("send"), body=letter, headers=once(idempotency_key), safe=True, member="message_id")
        return int((await self._transport.json(call))["message_id"])

    async def reply(self, to: Message, *, body: Optional[str] = None, html: Optional[str] = None, subject: Optional[str] = None, **more: Any) -> int:
        """Answer a message in its conversation; further arguments are those of send. Needs email:send."""
        old = to["subject"] or ""
        subject = subject if subject is not None else old if old.lower().startswith("re:") else f"Re: {old}"
        if to["internet_message_id"]:
            more["in_reply_to"] = f"<{to['internet_message_id']}>"
        target = (to["reply_to"] or [to["from"]])[0]["email"]
        return await self.send(to=target, subject=subject[:200], body=body, html=html, **more)

    async def wait_until_sent(self, id: int, timeout: float = 60) -> Message:
        """Look at a sent message until it is settled and return it.

        Raises TimedOut when it is still on its way: it is queued, not lost, and must not be sent again.
        """
        end = clock.monotonic() + timeout
        pause = 0.05
        while True:
            message = await self.message(id)
            status = message.get("send_status")
            if status not in ("queued", "retrying"):
                return message
            if clock.monotonic() + pause > end:
                raise TimedOut(f"Message {id} of {self.address} is still {status}: it is on its way, do not send it again")
            await asyncio.sleep(pause)
            pause = min(2 * pause, 3.0)

    async def wait_for_otp(
        self, timeout: float = 30, *, since: Optional[Moment] = None, after: Optional[int] = None, from_: Optional[str] = None,
        subject: Optional[str] = None, to: Optional[str] = None, claim: Optional[bool] = None,
    ) -> str:
        """Wait for a one-time code and return it: the newest that this object has not handed out.

        Mail that is there counts: of an inbox that this program made all of it, of any other that of the last 15 minutes (or ``since``,
        ``after``). Of any other inbox what is handed out is marked as read, and nothing that is read is handed out (``claim``).
        Raises TimedOut when none came in time.
        """
        choice = (from_, subject, to)
        seen = after if after is not None else self._handed.codes.get(choice, 0)
        query = self._query(since, after, from_, subject, to)
        end = clock.monotonic() + timeout
        while True:
            found = await self._poll({**query, "otp": True}, seen, end)
            if found is None:
                raise TimedOut(f"No code came to {self.address} within {timeout:g} s")
            self._handed.codes[choice] = seen = found["id"]
            if await self._mine(found, claim):
                return cast(str, found["otp_code"])

    async def wait_for_message(
        self, timeout: float = 30, *, match: Optional[Callable[[Message], bool]] = None, since: Optional[Moment] = None, after: Optional[int] = None,
        from_: Optional[str] = None, subject: Optional[str] = None, to: Optional[str] = None, claim: Optional[bool] = None,
    ) -> Message:
        """Wait for a message and return it: the oldest that fits and that this object has not handed out; see wait_for_otp.

        Raises TimedOut when none came in time.
        """
        handed = self._handed
        gapless = not (from_ or subject or to or since) and after is None
        seen = after if after is not None else handed.settled
        query = self._query(since, after, from_, subject, to)
        end = clock.monotonic() + timeout
        while True:
            newest = await self._poll(query, seen, end)
            if newest is None:
                raise TimedOut(f"No message came to {self.address} within {timeout:g} s")
            ready = [newest] if newest["id"] == seen + 1 else [*await self._between(seen, newest["id"], query), newest]
            for one in ready:
                before = after is None and one["id"] in handed.messages
                fits = not before and (match is None or match(one))
                if fits:
                    handed.messages[one["id"]] = True
                gapless = gapless and (before or fits)
                if gapless:
                    handed.settled = one["id"]
                if fits and await self._mine(one, claim):
                    return one
            seen = newest["id"]

    def events(self, *, after: Optional[str] = None, to: Optional[str] = None, on_gap: Optional[Callable[[], None]] = None, transport: str = "auto", silence: float = 45) -> AsyncGenerator[Json, None]:
        """What happens at this inbox, as it happens; without an end. See AsyncInboxd.events."""
        return _follow(self._transport, self._path("events"), after, to, on_gap, transport, silence)

    def _query(self, since: Optional[Moment], after: Optional[int], from_: Optional[str], subject: Optional[str], to: Optional[str]) -> Json:
        if since is None and after is None and not self._own:
            since = datetime.now(timezone.utc) + timedelta(seconds=self._transport.skew - WINDOW)
        return given(since=since, from_=from_, subject=subject, to=to)

    async def _mine(self, found: Message, claim: Optional[bool]) -> bool:
        if not (claim if claim is not None else not self._own):
            return True
        return not found["is_read"] and await self.claim(found["id"])

    async def _between(self, seen: int, newest: int, query: Json) -> List[Message]:
        """What came after seen and before newest, oldest first."""
        sender, subject = (query.get("from_") or "").lower(), (query.get("subject") or "").lower()
        found: List[Message] = []
        async for one in self.messages(limit=200, before=newest, since=query.get("since"), to=query.get("to")):
            if one["id"] <= seen:
                break
            if subject in (one["subject"] or "").lower() and sender in f"{one['from']['name']} {one['from']['email']}".lower():
                found.append(one)
        return [await self.message(one["id"]) for one in reversed(found)]

    async def _poll(self, query: Json, after: int, end: float) -> Optional[Message]:
        """Ask for the latest until there is one or the time is up; it outlives a restart of the service."""
        vain = 0
        while True:
            left = end - clock.monotonic()
            wait = min(POLL_SECONDS, max(0, int(-(-left // 1))))
            try:
                found = await self.latest(wait=wait, after=after, timeout=max(left, 0) + 2, **query)
                if found is not None or clock.monotonic() >= end:
                    return found
                vain = 0
                continue
            except InboxdError as err:
                pause = back_off(vain)
                if not passes(err) or clock.monotonic() + pause > end:
                    raise
            await asyncio.sleep(pause)
            vain += 1


class AsyncInboxes:
    """The inboxes that a key reaches: ``client.inboxes``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self, *, prefix: Optional[str] = None, subdomain: Optional[str] = None, domain: Optional[str] = None, label: Optional[str] = None,
        retention_hours: Optional[int] = None, keep_newest: Optional[bool] = None, idempotency_key: Optional[str] = None,
    ) -> AsyncInbox:
        """Make an inbox; without a prefix its address is drawn. Needs an account key with inbox:manage."""
        order = given(prefix=prefix, subdomain=subdomain, domain=domain, label=label, retention_hours=retention_hours, keep_newest=keep_newest)
        made = await self._transport.json(Call("POST", "/api/v1/inboxes", body=order, headers=once(idempotency_key), safe=True, member="address"))
        return AsyncInbox(self._transport, made["address"], made, own=True)

    async def create_many(self, orders: Sequence[InboxOrder], *, idempotency_key: Optional[str] = None) -> List[Union[AsyncInbox, ApiError]]:
        """Make up to 1,000 inboxes in one call; each has its inbox or its refusal, in order. Needs an account key with inbox:manage."""
        call = Call("POST", "/api/v1/inboxes/batch", body={"inboxes": [*orders]}, headers=once(idempotency_key), safe=True, member="results")
        results = (await self._transport.json(call))["results"]
        return [
            AsyncInbox(self._transport, r["inbox"]["address"], r["inbox"], own=True) if "inbox" in r else ApiError(r["status"], r.get("detail", ""))
            for r in results
        ]

    async def list(self, *, limit: Optional[int] = None, label: Optional[str] = None, prefix: Optional[str] = None) -> AsyncGenerator[AsyncInbox, None]:
        """Go through the inboxes. Needs inbox:read; an inbox key reaches one."""
        async for info in _pages(self._transport, "/api/v1/inboxes", "inboxes", given(limit=limit, label=label, prefix=prefix)):
            yield AsyncInbox(self._transport, info["address"], info)

    async def get(self, address: str) -> AsyncInbox:
        """One inbox, which must be there. Needs inbox:read."""
        info = await AsyncInbox(self._transport, address).get()
        return AsyncInbox(self._transport, info["address"], info)


class AsyncSuppressions:
    """Addresses that mail came back from: ``client.suppressions``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> AsyncGenerator[Suppression, None]:
        """Go through them. Needs email:send."""
        async for one in _pages(self._transport, "/api/v1/suppressions", "suppressions", {}):
            yield one

    async def delete(self, email: str) -> None:
        """Allow mail to an address again. Needs email:send."""
        path = inbox_path(email).replace("/inboxes/", "/suppressions/", 1)
        await self._transport.json(Call("DELETE", path, member="ok"))


class AsyncInboxd:
    """Speaks for one key. Safe to share; keep one for the whole program, and close it at its end.

    ``base_url`` is by default the variable INBOX_BASE_URL, else http://127.0.0.1:8080; ``api_key`` the variable INBOX_API_KEY; ``timeout`` the
    seconds that one call may take; ``retries`` how often a call is repeated where that is safe; ``http`` a client of httpx to use.
    """

    def __init__(self, base_url: Optional[str] = None, api_key: Optional[str] = None, *, timeout: float = 30, retries: int = 2, http: Optional[httpx.AsyncClient] = None) -> None:
        self._transport = AsyncTransport(base_url, api_key, timeout, retries, http)
        self.inboxes = AsyncInboxes(self._transport)
        self.suppressions = AsyncSuppressions(self._transport)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._transport.own:
            await self._transport.http.aclose()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], err: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.aclose()

    def inbox(self, address: str) -> AsyncInbox:
        """The inbox at an address; nothing is asked of the service."""
        return AsyncInbox(self._transport, address)

    async def messages(
        self, *, to: Optional[str] = None, from_: Optional[str] = None, subject: Optional[str] = None, q: Optional[str] = None, label: Optional[str] = None,
        since: Optional[Moment] = None, unread: Optional[bool] = None, otp: Optional[bool] = None, direction: Optional[str] = None,
        limit: Optional[int] = None, include: Union[str, Sequence[str], None] = None, fields: Union[str, Sequence[str], None] = None,
    ) -> AsyncGenerator[Message, None]:
        """Go through the messages of all inboxes, newest first; each says its ``inbox``. Needs an account key with inbox:read."""
        query = given(to=to, subject=subject, q=q, label=label, since=since, unread=unread, otp=otp, direction=direction, limit=limit, include=include, fields=fields, **{"from": from_})
        async for one in _pages(self._transport, "/api/v1/messages", "emails", query):
            yield one

    def events(self, *, after: Optional[str] = None, to: Optional[str] = None, on_gap: Optional[Callable[[], None]] = None, transport: str = "auto", silence: float = 45) -> AsyncGenerator[Json, None]:
        """What happens at all inboxes, as it happens, over one connection; without an end. Needs inbox:read.

        Each event is the body of its webhook and ``cursor``: keep that to go on from there (``after``); without it the iteration begins now.
        A stream that breaks is made again where it broke; where none comes through, long polls take its place (``transport``: auto,
        stream, poll). No event is missed; ``on_gap`` is called when events behind ``after`` are no longer kept.
        """
        return _follow(self._transport, "/api/v1/events", after, to, on_gap, transport, silence)

    async def tools(self, format: str) -> List[Json]:
        """Six tools as the function schemas that a model's maker takes: openai, anthropic or gemini. Needs no key."""
        return cast(List[Json], await self._transport.json(Call("GET", "/api/v1/tools", {"format": format}, safe=True)))


class _NoStream(InboxdError):
    """Why a stream ended, where asking for another is of no use."""


async def _follow(transport: AsyncTransport, path: str, after: Optional[str], to: Optional[str], on_gap: Optional[Callable[[], None]], way: str, silence: float) -> AsyncGenerator[Json, None]:
    cursor = after if after and after != "now" else ""
    if not cursor:  # where "now" is, so that a stream that never begins loses nothing
        cursor = (await transport.json(Call("GET", path, {"after": "now"}, safe=True, member="next")))["next"]
    if way != "poll":
        try:
            async for event in _streams(transport, path, cursor, to, on_gap, silence):
                if event["cursor"]:
                    cursor = event["cursor"]
                if "event" in event:
                    yield event
        except _NoStream:
            if way == "stream":
                raise
    vain = 0
    while True:
        try:
            call = Call("GET", path, {"after": cursor, "wait": POLL_SECONDS, "to": to}, safe=True, member="next")
            page = await transport.json(call, POLL_SECONDS + 15)
            vain = 0
        except InboxdError as err:
            if not passes(err):
                raise
            pause = min(LONGEST_PAUSE, max(back_off(vain), asked_pause(err)))
            await asyncio.sleep(pause)
            vain += 1
            continue
        if page.get("gap") and on_gap:
            on_gap()
        for i, one in enumerate(page["events"]):
            yield {**one, "cursor": page["next"] if i == len(page["events"]) - 1 else cursor}
        cursor = page["next"]


async def _streams(transport: AsyncTransport, path: str, cursor: str, to: Optional[str], on_gap: Optional[Callable[[], None]], silence: float) -> AsyncGenerator[Json, None]:
    """Events and, with ``cursor`` alone, places without one."""
    vain, begun = 0, False
    while True:
        call = Call("GET", path, given(to=to), headers={"Accept": "text/event-stream", "Last-Event-ID": cursor})
        try:
            response = await transport.open(call, 30, stream=True, silence=silence if begun else min(silence, 10))
            try:
                if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    raise _NoStream("what answers is no stream")
                blocks = Blocks()
                async for some in response.aiter_bytes():
                    for ident, data, gap in blocks.take(some):
                        if gap and on_gap:
                            on_gap()
                        cursor = ident or cursor
                        begun, vain = True, 0
                        try:
                            event = json.loads(data) if data else {}
                        except ValueError as err:
                            raise UnexpectedAnswer("The stream holds what is no event", 200) from err
                        yield {**event, "cursor": cursor}
                raise NotReached("The stream ended")
            except httpx.TimeoutException as err:
                raise TimedOut("The stream says nothing") from err
            except (httpx.TransportError, httpx.StreamError) as err:
                raise NotReached(f"The stream broke: {err}") from err
            finally:
                await response.aclose()
        except InboxdError as err:
            if isinstance(err, TimedOut) and not begun or isinstance(err, ApiError) and err.status in (405, 406):
                raise _NoStream("something on the way holds streams back") from err
            if not (passes(err) or isinstance(err, TimedOut)) or not begun and vain >= 2:
                raise
            pause = min(LONGEST_PAUSE, max(back_off(vain), asked_pause(err)))
        await asyncio.sleep(pause)
        vain += 1
