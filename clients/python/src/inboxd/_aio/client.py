"""What a key reaches."""

from __future__ import annotations

import copy
from types import TracebackType
from typing import AsyncGenerator, Callable, List, Literal, Optional, Sequence, Type, TypeVar, Union, cast

import httpx

from .._core import Call, Direction, Json, Moment, Way, given, once, path_of
from ..contract import FollowedEvent, InboxOrder, Message, Suppression
from ..errors import ApiError
from .events import follow
from .inbox import AsyncInbox
from .transport import AsyncTransport, pages

Self = TypeVar("Self", bound="AsyncInboxd")


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
        made = await self._transport.json(Call("POST", "/api/v1/inboxes", body=order, headers=once(idempotency_key), member="address"))
        return AsyncInbox(self._transport, made["address"], made, own=True)

    async def create_many(self, orders: Sequence[InboxOrder], *, idempotency_key: Optional[str] = None) -> List[Union[AsyncInbox, ApiError]]:
        """Make up to 1,000 inboxes in one call; each has its inbox or its refusal, in order. Needs an account key with inbox:manage."""
        call = Call("POST", "/api/v1/inboxes/batch", body={"inboxes": [*orders]}, headers=once(idempotency_key), member="results")
        results = await self._transport.member(call)
        return [
            AsyncInbox(self._transport, r["inbox"]["address"], r["inbox"], own=True) if "inbox" in r else ApiError(r["status"], r.get("detail", ""))
            for r in results
        ]

    async def list(self, *, limit: Optional[int] = None, label: Optional[str] = None, prefix: Optional[str] = None) -> AsyncGenerator[AsyncInbox, None]:
        """Go through the inboxes. Needs inbox:read; an inbox key reaches one."""
        async for info in pages(self._transport, "/api/v1/inboxes", "inboxes", given(limit=limit, label=label, prefix=prefix)):
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
        async for one in pages(self._transport, "/api/v1/suppressions", "suppressions", {}):
            yield one

    async def delete(self, email: str) -> None:
        """Allow mail to an address again. Needs email:send."""
        await self._transport.json(Call("DELETE", path_of("suppressions", email), member="ok"))


class AsyncInboxd:
    """Speaks for one key. Safe to share; keep one for the whole program, and close it at its end.

    ``base_url`` is by default the variable INBOX_BASE_URL, else http://127.0.0.1:8080; ``api_key`` the variable INBOX_API_KEY; ``timeout`` the
    seconds that one call may take; ``retries`` how often a call is repeated where that is safe; ``http`` a client of httpx to use.
    """

    def __init__(
        self, base_url: Optional[str] = None, api_key: Optional[str] = None, *, timeout: float = 30, retries: int = 2,
        http: Optional[httpx.AsyncClient] = None,
    ) -> None:
        self._over(AsyncTransport(base_url, api_key, timeout, retries, http))

    def _over(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.inboxes = AsyncInboxes(transport)
        self.suppressions = AsyncSuppressions(transport)

    def with_options(self: Self, *, timeout: Optional[float] = None, retries: Optional[int] = None) -> Self:
        """The same client and its connections, whose calls end after so many seconds or are repeated so often."""
        other = copy.copy(self)
        other._over(self._transport.with_options(timeout, retries))
        return other

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
        since: Optional[Moment] = None, unread: Optional[bool] = None, otp: Optional[bool] = None, verified: Optional[bool] = None,
        direction: Optional[Direction] = None, limit: Optional[int] = None, include: Union[str, Sequence[str], None] = None, fields: Union[str, Sequence[str], None] = None,
    ) -> AsyncGenerator[Message, None]:
        """Go through the messages of all inboxes, newest first; each says its ``inbox``. Needs an account key with inbox:read."""
        query = given(
            to=to, subject=subject, q=q, label=label, since=since, unread=unread, otp=otp, verified=verified, direction=direction, limit=limit,
            include=include, fields=fields, **{"from": from_},
        )
        async for one in pages(self._transport, "/api/v1/messages", "emails", query):
            yield one

    def events(
        self, *, after: Optional[str] = None, to: Optional[str] = None, on_gap: Optional[Callable[[], None]] = None, transport: Way = "auto",
        silence: float = 45,
    ) -> AsyncGenerator[FollowedEvent, None]:
        """What happens at all inboxes, as it happens, over one connection; without an end. Needs inbox:read.

        Each event is the body of its webhook and ``cursor``: keep that to go on from there (``after``); without it the iteration begins now.
        A stream that breaks is made again where it broke; where none comes through, long polls take its place (``transport``: auto,
        stream, poll). No event is missed; ``on_gap`` is called when events behind ``after`` are no longer kept.
        """
        return follow(self._transport, "/api/v1/events", after, to, on_gap, transport, silence)

    async def tools(self, format: Literal["openai", "anthropic", "gemini"]) -> List[Json]:
        """Six tools as the function schemas that a model's maker takes: openai, anthropic or gemini. Needs no key."""
        return cast(List[Json], await self._transport.json(Call("GET", "/api/v1/tools", {"format": format})))
