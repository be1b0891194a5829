"""One inbox: its messages, and the waits for them."""

from __future__ import annotations

import asyncio
import math
import time as clock
from datetime import datetime, timedelta, timezone
from typing import Any, AsyncGenerator, Callable, List, Optional, Sequence, Union, cast

from .._core import GRACE, POLL_SECONDS, WINDOW, Call, Direction, Handed, Json, Moment, Way, answering, described, given, inbox_path, once, passes, pause_before
from ..contract import CreatedInbox, FollowedEvent, Message
from ..contract import Inbox as InboxInfo
from ..errors import ApiError, InboxdError, TimedOut
from .calendar import AsyncCalendar
from .events import follow
from .transport import AsyncTransport


class AsyncInbox:
    """An inbox. No request is made until a method is awaited."""

    def __init__(self, transport: AsyncTransport, address: str, info: Union[CreatedInbox, InboxInfo, None] = None, own: bool = False) -> None:
        self.address = address  #: ``prefix@namespace``
        self.info = info  #: the response that this object was created from; None for ``client.inbox(address)``
        self.calendar = AsyncCalendar(transport, address)
        self._transport = transport
        self._own = own
        self._handed = Handed()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    def tagged(self, tag: str) -> "AsyncInbox":
        """The inbox with a tag: lists, latest, waits and events include only messages to ``user+tag@host``."""
        local, _, domain = self.address.rpartition("@")
        return AsyncInbox(self._transport, f"{local}+{tag}@{domain}", own=self._own)

    def with_options(self, *, timeout: Optional[float] = None, retries: Optional[int] = None) -> "AsyncInbox":
        """A copy with another ``timeout`` in seconds or number of ``retries``: ``inbox.with_options(timeout=2).get()``."""
        other = AsyncInbox(self._transport.with_options(timeout, retries), self.address, self.info, self._own)
        other._handed = self._handed
        return other

    def _path(self, *rest: Any) -> str:
        return inbox_path(self.address, *rest)

    async def get(self) -> InboxInfo:
        """The current state of the inbox. Needs inbox:read."""
        return cast(InboxInfo, await self._transport.member(Call("GET", self._path(), member="inbox")))

    async def update(self, *, label: Optional[str] = None, retention_hours: Optional[int] = None, keep_newest: Optional[bool] = None) -> InboxInfo:
        """Change the label, the retention, or what happens when the inbox is full. Needs inbox:manage."""
        change = given(label=label, retention_hours=retention_hours, keep_newest=keep_newest)
        return cast(InboxInfo, await self._transport.member(Call("PATCH", self._path(), body=change, safe=True, member="inbox")))

    async def delete(self) -> None:
        """Permanently delete the inbox with its messages. Needs inbox:manage."""
        await self._transport.json(Call("DELETE", self._path(), member="ok"))

    async def burn(self) -> int:
        """Delete all messages and keep the address; return how many were deleted. Needs inbox:manage."""
        return int(await self._transport.member(Call("POST", self._path("burn"), member="deleted")))

    async def latest(
        self, *, wait: int = 0, after: Union[int, str, None] = None, since: Optional[Moment] = None, to: Optional[str] = None, otp: Optional[bool] = None,
        from_: Optional[str] = None, subject: Optional[str] = None, verified: Optional[bool] = None, direction: Optional[Direction] = None,
        fields: Union[str, Sequence[str], None] = None, timeout: Optional[float] = None,
    ) -> Optional[Message]:
        """The newest matching message, or None if there is none. Needs inbox:read.

        ``wait`` waits up to that many seconds (at most 60) for one. Only received messages match, unless ``direction`` is "out" or "all".
        """
        query = given(
            wait=wait or None, after=after, since=since, to=to, otp=otp, subject=subject, verified=verified, direction=direction, fields=fields,
            **{"from": from_},
        )
        limit = self._transport.timeout + wait if timeout is None else timeout
        answer = await self._transport.json(Call("GET", self._path("latest"), query, member="email"), limit)
        if otp and answer.get("encrypted"):
            raise InboxdError(answer["note"])
        return cast(Optional[Message], answer["email"])

    async def messages(
        self, *, limit: Optional[int] = None, before: Optional[int] = None, direction: Optional[Direction] = None, to: Optional[str] = None,
        since: Optional[Moment] = None, unread: Optional[bool] = None, from_: Optional[str] = None, verified: Optional[bool] = None,
        q: Optional[str] = None, include: Union[str, Sequence[str], None] = None, fields: Union[str, Sequence[str], None] = None,
    ) -> AsyncGenerator[Message, None]:
        """Iterate over the messages, newest first; ``limit`` is the page size. Needs inbox:read."""
        picked = fields.split(",") if isinstance(fields, str) else fields
        names = None if not picked else [*dict.fromkeys(["id", *picked])]  # paging uses the ids
        query = given(
            limit=limit, direction=direction, to=to, since=since, unread=unread, verified=verified, q=q, include=include, fields=names,
            **{"from": from_},
        )
        while True:
            page = await self._transport.json(Call("GET", self._path("messages"), {**query, "before": before}, member="emails"))
            for one in page["emails"]:
                yield one
            if not page["has_more"] or not page["emails"]:
                return
            before = page["emails"][-1]["id"]

    async def message(self, id: int) -> Message:
        """One message. Needs inbox:read."""
        return cast(Message, await self._transport.member(Call("GET", self._path("messages", id), member="email")))

    async def raw(self, id: int) -> bytes:
        """A message as it was received, RFC 5322. Needs inbox:read."""
        return await self._transport.body(Call("GET", self._path("messages", id, "raw"), headers={"Accept": "*/*"}))

    async def attachment(self, message: int, id: int) -> bytes:
        """The bytes of an attachment. Needs inbox:read."""
        return await self._transport.body(Call("GET", self._path("messages", message, "attachments", id), headers={"Accept": "*/*"}))

    async def mark(self, id: int, read: bool = True) -> None:
        """Mark a message as read or unread. Needs inbox:read."""
        await self._transport.json(Call("POST", self._path("messages", id, "read"), body={"read": read}, safe=True, member="ok"))

    async def claim(self, id: int) -> bool:
        """Mark a message as read; return whether it was unread. Of several clients that claim a message, one gets True. Needs inbox:read."""
        return bool(await self._transport.member(Call("POST", self._path("messages", id, "read"), body={"claim": True}, member="claimed")))

    async def delete_message(self, id: int) -> None:
        """Delete one message. Needs message:write."""
        await self._transport.json(Call("DELETE", self._path("messages", id), member="ok"))

    async def delete_messages(self, *, before: Optional[int] = None, older_than: Optional[int] = None) -> int:
        """Delete the messages with a lower id, or those older than ``older_than`` hours; return how many were deleted. Needs message:write."""
        call = Call("DELETE", self._path("messages"), given(before=before, older_than=older_than), member="deleted")
        return int(await self._transport.member(call))

    async def send(
        self, *, to: str, subject: Optional[str] = None, body: Optional[str] = None, html: Optional[str] = None, cc: Optional[Sequence[str]] = None,
        bcc: Optional[Sequence[str]] = None, attachments: Optional[Sequence[Json]] = None, in_reply_to: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> int:
        """Queue a message and return its id: it is accepted, not yet delivered. Needs email:send.

        ``attachments`` are ``{"filename", "content_b64", "content_type"}``.
        """
        letter = given(
            to=to, subject=subject, body=body, html=html, cc=None if cc is None else [*cc], bcc=None if bcc is None else [*bcc],
            attachments=None if attachments is None else [*attachments], in_reply_to=in_reply_to,
        )
        call = Call("POST", self._path("send"), body=letter, headers=once(idempotency_key), member="message_id")
        return int(await self._transport.member(call))

    async def simulate(
        self, *, sender: str, subject: Optional[str] = None, text: Optional[str] = None, html: Optional[str] = None,
        attachments: Optional[Sequence[Json]] = None,
    ) -> Message:
        """Receive a message from ``sender`` as if it had come over SMTP, and return it. Needs inbox:manage and a server with --simulate.

        ``sender`` is an address, or a name and an address: ``Shop <shop@example.com>``. ``attachments`` are as for send.
        """
        letter = given(**{"from": sender}, subject=subject, text=text, html=html, attachments=None if attachments is None else [*attachments])
        message: Message = await self._transport.member(Call("POST", self._path("messages"), body=letter, member="email"))
        return message

    async def reply(
        self, to: Message, *, subject: Optional[str] = None, body: Optional[str] = None, html: Optional[str] = None, cc: Sequence[str] = (),
        bcc: Optional[Sequence[str]] = None, attachments: Optional[Sequence[Json]] = None, idempotency_key: Optional[str] = None,
    ) -> int:
        """Reply to a message in its conversation. Needs email:send.

        The reply to a received message goes to its Reply-To or else its From; one to a sent message, to its recipients. ``cc`` is added.
        Raises InboxdError if the message is encrypted or has no address to reply to.
        """
        letter = answering(to)
        return await self.send(
            to=letter["to"], subject=letter["subject"] if subject is None else subject, in_reply_to=letter.get("in_reply_to"), body=body, html=html,
            cc=[*letter.get("cc", []), *cc], bcc=bcc, attachments=attachments, idempotency_key=idempotency_key,
        )

    async def wait_until_sent(self, id: int, timeout: float = 60) -> Message:
        """Poll a sent message until its status is final, and return it.

        Raises TimedOut if it is still on its way: it is queued, not lost, and must not be sent again.
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
        subject: Optional[str] = None, to: Optional[str] = None, verified: Optional[bool] = None, claim: Optional[bool] = None,
    ) -> str:
        """Wait for a one-time code and return it: the newest that this object has not returned before.

        Existing messages count: in an inbox that this program created all of them, in any other those of the last 15 minutes (or
        ``since``, ``after``). In any other inbox a returned message is marked as read, and read ones are not returned (``claim``).
        Raises TimedOut if no code arrives in time; its text and ``arrived`` list what did arrive, with codes, confidences and candidates. Raises
        InboxdError immediately if the inbox is encrypted, because its codes cannot be read.
        """
        choice = (from_, subject, to, verified)
        seen = before = after if after is not None else self._handed.codes.get(choice, 0)
        query = self._query(since, after, from_, subject, to, verified)
        end = clock.monotonic() + timeout
        while True:
            found = await self._poll({**query, "otp": True}, seen, end)
            if found is None:
                raise await self._without_code(query, before, timeout)
            seen = found["id"]
            if not self._handed.take_code(choice, seen) and after is None:
                continue  # another wait returned it first
            if await self._mine(found, claim):
                return cast(str, found["otp_code"])

    async def wait_for_message(
        self, timeout: float = 30, *, match: Optional[Callable[[Message], bool]] = None, since: Optional[Moment] = None, after: Optional[int] = None,
        from_: Optional[str] = None, subject: Optional[str] = None, to: Optional[str] = None, verified: Optional[bool] = None,
        claim: Optional[bool] = None,
    ) -> Message:
        """Wait for a message and return it: the oldest matching one that this object has not returned before; see wait_for_otp.

        Raises TimedOut if none arrives in time.
        """
        handed = self._handed
        gapless = not (from_ or subject or to or since or verified) and after is None
        seen = after if after is not None else handed.settled
        query = self._query(since, after, from_, subject, to, verified)
        end = clock.monotonic() + timeout
        while True:
            newest = await self._poll(query, seen, end)
            if newest is None:
                raise TimedOut(f"No message arrived at {self.address} within {timeout:g} s")
            ready = [newest] if newest["id"] == seen + 1 else [*await self._between(seen, newest["id"], query), newest]
            for one in ready:
                known = after is None and handed.has(one["id"])
                fits = not known and (match is None or match(one)) and (handed.take(one["id"]) or after is not None)
                gapless = gapless and handed.has(one["id"])
                if gapless:
                    handed.settle(one["id"])
                if fits and await self._mine(one, claim):
                    return one
            seen = newest["id"]

    async def _without_code(self, query: Json, after: int, timeout: float) -> TimedOut:
        """The TimedOut error, with what did arrive, whoever sent it."""
        vain = f"No code arrived at {self.address} within {timeout:g} s"
        arrived: List[Message] = []
        try:
            listed = self.with_options(timeout=GRACE, retries=0).messages(
                limit=10, since=query.get("since"), to=query.get("to"), fields="id,subject,from,received_at,otp_code,otp,otp_candidates,is_read",
            )
            async for one in listed:
                if one["id"] <= after or len(arrived) == 10:
                    break
                arrived.append(one)
        except InboxdError:
            pass
        if not arrived:
            return TimedOut(vain)
        lines = "\n".join(map(described, arrived))
        codeless = next((one for one in arrived if one["otp"] is None), None)
        subject = (codeless["subject"] or "") if codeless else None
        return TimedOut(f"{vain}. What did arrive:\n{lines}", codeless and codeless["id"], subject, arrived)

    def events(
        self, *, after: Optional[str] = None, to: Optional[str] = None, on_gap: Optional[Callable[[], None]] = None, transport: Way = "auto",
        silence: float = 45,
    ) -> AsyncGenerator[FollowedEvent, None]:
        """Iterate over the events of this inbox as they happen, without end. See AsyncInboxd.events."""
        return follow(self._transport, self._path("events"), after, to, on_gap, transport, silence)

    def _query(
        self, since: Optional[Moment], after: Optional[int], from_: Optional[str], subject: Optional[str], to: Optional[str], verified: Optional[bool],
    ) -> Json:
        if since is None and after is None and not self._own:
            since = datetime.now(timezone.utc) + timedelta(seconds=self._transport.skew - WINDOW)
        return given(since=since, from_=from_, subject=subject, to=to, verified=verified)

    async def _mine(self, found: Message, claim: Optional[bool]) -> bool:
        if not (claim if claim is not None else not self._own):
            return True
        if found["is_read"]:
            return False
        try:
            return await self.claim(found["id"])
        except ApiError as err:
            if err.status == 404:  # another program has deleted it
                return False
            raise

    async def _between(self, seen: int, newest: int, query: Json) -> List[Message]:
        """The messages after seen and before newest, oldest first."""
        subject = (query.get("subject") or "").lower()
        chosen = {name: query.get(name) for name in ("since", "to", "from_", "verified")}
        found: List[Message] = []
        async for one in self.messages(limit=200, before=newest, fields="id,subject", **chosen):
            if one["id"] <= seen:
                break
            if subject in (one["subject"] or "").lower():
                found.append(one)
        whole: List[Message] = []
        for one in reversed(found):
            try:
                whole.append(await self.message(one["id"]))
            except ApiError as err:
                if err.status != 404:  # deleted meanwhile
                    raise
        return whole

    async def _poll(self, query: Json, after: int, end: float) -> Optional[Message]:
        """Request the latest message until there is one or the time is over; continue over a restart of the service."""
        vain = 0
        while True:
            left = max(0.0, end - clock.monotonic())
            wait = min(POLL_SECONDS, math.ceil(left))
            try:
                found = await self.latest(wait=wait, after=after, timeout=min(self._transport.timeout + wait, left + GRACE), **query)
                if found is not None or clock.monotonic() >= end:
                    return found
                vain = 0
                continue
            except InboxdError as err:
                pause = pause_before(vain, err)
                if not (passes(err) or isinstance(err, TimedOut)) or clock.monotonic() + pause > end:
                    raise
            await asyncio.sleep(pause)
            vain += 1
