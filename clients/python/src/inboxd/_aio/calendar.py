"""The calendar of an inbox."""

from __future__ import annotations

from typing import Any, AsyncGenerator, List, Literal, Optional, Sequence, Union, cast

from .._core import Call, Json, Moment, given, inbox_path, once
from ..contract import Arranged, CalendarFeed, Meeting, OwnerCopies
from .transport import AsyncTransport, pages


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
        async for one in pages(self._transport, self._path("events"), "events", query):
            yield one

    async def get(self, id: int) -> Meeting:
        """The current state of one meeting. Needs inbox:read."""
        return cast(Meeting, await self._transport.member(Call("GET", self._path("events", id), member="event")))

    async def create(
        self, *, title: str, start: str, attendees: Sequence[Union[str, Json]], end: Optional[str] = None, duration_minutes: Optional[int] = None,
        timezone: Optional[str] = None, all_day: Optional[bool] = None, location: Optional[str] = None, description: Optional[str] = None,
        message: Optional[str] = None, in_reply_to: Optional[str] = None, idempotency_key: Optional[str] = None,
    ) -> Arranged:
        """Create a meeting and invite its attendees. A time without an offset needs ``timezone``. Needs email:send."""
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
        """Cancel a meeting that this inbox organizes; ``message`` is a text for the guests. Needs email:send."""
        return await self._order(self._path("events", id, "cancel"), given(message=message), idempotency_key)

    async def answer(
        self, id: int, response: Literal["accepted", "declined", "tentative"], comment: Optional[str] = None, *, idempotency_key: Optional[str] = None,
    ) -> Arranged:
        """Respond to an invitation: accepted, declined or tentative. Needs email:send."""
        return await self._order(self._path("events", id, "rsvp"), given(response=response, comment=comment), idempotency_key)

    async def remove(self, id: int) -> None:
        """Remove a meeting from this calendar. Nothing is sent, and no message restores it for 30 days. Needs message:write."""
        await self._transport.json(Call("DELETE", self._path("events", id), safe=True, member="ok"))

    async def free_busy(self, from_: Moment, to: Moment) -> List[Json]:
        """The occupied periods between two times, at most 92 days apart. Needs inbox:read."""
        return cast(List[Json], await self._transport.member(Call("GET", self._path("freebusy"), {"from": from_, "to": to}, member="busy")))

    async def feed(self) -> CalendarFeed:
        """The link for calendar programs; the first call creates it. Needs inbox:read."""
        return cast(CalendarFeed, await self._transport.json(Call("GET", self._path("feed"), member="feed_url")))

    async def rotate_feed(self, *, idempotency_key: Optional[str] = None) -> CalendarFeed:
        """Replace the link; the old one stops working immediately. Needs inbox:manage."""
        call = Call("POST", self._path("feed", "rotate"), headers=once(idempotency_key), member="feed_url")
        return cast(CalendarFeed, await self._transport.json(call))

    async def delete_feed(self) -> None:
        """Turn the link off. Needs inbox:manage."""
        await self._transport.json(Call("DELETE", self._path("feed"), safe=True, member="enabled"))

    async def owner(self) -> OwnerCopies:
        """Whether the account's owner gets copies. Needs an account key with inbox:read."""
        return cast(OwnerCopies, await self._transport.json(Call("GET", self._path("owner"), member="enabled")))

    async def set_owner(self, enabled: bool) -> OwnerCopies:
        """Set whether the account's owner gets copies. Needs an account key with inbox:manage."""
        return cast(OwnerCopies, await self._transport.json(Call("PUT", self._path("owner"), body={"enabled": enabled}, member="enabled")))

    async def _order(self, path: str, body: Json, key: Optional[str]) -> Arranged:
        return cast(Arranged, await self._transport.json(Call("POST", path, body=body, headers=once(key), member="event")))
