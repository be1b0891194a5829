"""The client of one key."""

from __future__ import annotations

import copy
from types import TracebackType
from typing import AsyncGenerator, Callable, List, Literal, Optional, Sequence, Type, TypeVar, Union, cast

import httpx

from .._core import Call, Direction, Json, Moment, Way, given, once, path_of
from ..contract import FollowedEvent, InboxOrder, Message, Suppression
from ..errors import ApiError
from .account import AsyncAccount, AsyncDomains, AsyncKeys, AsyncWebhooks
from .events import follow
from .inbox import AsyncInbox
from .transport import AsyncTransport, pages

Self = TypeVar("Self", bound="AsyncInboxd")


class AsyncInboxes:
    """The inboxes that a key can access: ``client.inboxes``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self, *, prefix: Optional[str] = None, subdomain: Optional[str] = None, domain: Optional[str] = None, label: Optional[str] = None,
        retention_hours: Optional[int] = None, keep_newest: Optional[bool] = None, idempotency_key: Optional[str] = None,
    ) -> AsyncInbox:
        """Create an inbox. Without a prefix its address is random. Needs an account key with inbox:manage."""
        order = given(prefix=prefix, subdomain=subdomain, domain=domain, label=label, retention_hours=retention_hours, keep_newest=keep_newest)
        made = await self._transport.json(Call("POST", "/api/v1/inboxes", body=order, headers=once(idempotency_key), member="address"))
        return AsyncInbox(self._transport, made["address"], made, own=True)

    async def create_many(self, orders: Sequence[InboxOrder], *, idempotency_key: Optional[str] = None) -> List[Union[AsyncInbox, ApiError]]:
        """Create up to 1,000 inboxes in one call. The results, inboxes or errors, are in the order of ``orders``.

        Needs an account key with inbox:manage.
        """
        call = Call("POST", "/api/v1/inboxes/batch", body={"inboxes": [*orders]}, headers=once(idempotency_key), member="results")
        results = await self._transport.member(call)
        return [
            AsyncInbox(self._transport, r["inbox"]["address"], r["inbox"], own=True) if "inbox" in r else ApiError(r["status"], r.get("detail", ""), code=r.get("code", ""), field=r.get("field"))
            for r in results
        ]

    async def list(self, *, limit: Optional[int] = None, label: Optional[str] = None, prefix: Optional[str] = None) -> AsyncGenerator[AsyncInbox, None]:
        """Iterate over the inboxes. Needs inbox:read; an inbox key can access only one."""
        async for info in pages(self._transport, "/api/v1/inboxes", "inboxes", given(limit=limit, label=label, prefix=prefix)):
            yield AsyncInbox(self._transport, info["address"], info)

    async def get(self, address: str) -> AsyncInbox:
        """One existing inbox. Needs inbox:read."""
        info = await AsyncInbox(self._transport, address).get()
        return AsyncInbox(self._transport, info["address"], info)


class AsyncSuppressions:
    """Addresses from which messages were returned: ``client.suppressions``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> AsyncGenerator[Suppression, None]:
        """Iterate over the suppressed addresses. Needs email:send."""
        async for one in pages(self._transport, "/api/v1/suppressions", "suppressions", {}):
            yield one

    async def delete(self, email: str) -> None:
        """Allow messages to an address again. Needs email:send."""
        await self._transport.json(Call("DELETE", path_of("suppressions", email), member="ok"))


class AsyncInboxd:
    """The client of one key. It can be shared: use one for the whole program, and close it at the end.

    ``base_url`` is by default INBOX_BASE_URL, else http://127.0.0.1:8080, and ``api_key`` INBOX_API_KEY, which is required. ``timeout`` limits one call, in
    seconds. ``retries`` is how often a call is retried where that is safe. ``http`` is an httpx client to use.
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
        self.webhooks = AsyncWebhooks(transport)
        self.domains = AsyncDomains(transport)
        self.keys = AsyncKeys(transport)
        self.account = AsyncAccount(transport)

    def with_options(self: Self, *, timeout: Optional[float] = None, retries: Optional[int] = None) -> Self:
        """A copy with another ``timeout`` in seconds or number of ``retries``; it uses the same connections."""
        other = copy.copy(self)
        other._over(self._transport.with_options(timeout, retries))
        return other

    async def log_in(self: Self, email: str, password: str) -> Self:
        """A copy with a new session as its credential, for ``keys`` and ``account``; it uses the same connections. Needs no key."""
        return await self._session("/api/auth/login", email, password)

    async def sign_up(self: Self, email: str, password: str) -> Self:
        """Open an account; the copy is like that of ``log_in``. Needs no key."""
        return await self._session("/api/auth/signup", email, password)

    async def _session(self: Self, path: str, email: str, password: str) -> Self:
        token = await self._transport.member(Call("POST", path, body={"email": email, "password": password}, member="session_token"))
        other = copy.copy(self)
        other._over(self._transport.with_credential(token))
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
        """The inbox at an address. Makes no request."""
        return AsyncInbox(self._transport, address)

    async def messages(
        self, *, to: Optional[str] = None, from_: Optional[str] = None, subject: Optional[str] = None, q: Optional[str] = None, label: Optional[str] = None,
        since: Optional[Moment] = None, unread: Optional[bool] = None, otp: Optional[bool] = None, verified: Optional[bool] = None,
        direction: Optional[Direction] = None, limit: Optional[int] = None, include: Union[str, Sequence[str], None] = None, fields: Union[str, Sequence[str], None] = None,
    ) -> AsyncGenerator[Message, None]:
        """Iterate over the messages of all inboxes, newest first; each has its ``inbox``. Needs an account key with inbox:read."""
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
        """Iterate over the events of all inboxes as they happen, over one connection, without end. Needs inbox:read.

        Each event is the body of its webhook with a ``cursor``: store it to resume from there (``after``). Without ``after`` the iteration
        begins now. An interrupted stream reconnects and resumes; if streams are buffered on the way, long polls are used instead
        (``transport``: auto, stream, poll). No event is missed. ``on_gap`` is called if events after ``after`` are no longer kept.
        """
        return follow(self._transport, "/api/v1/events", after, to, on_gap, transport, silence)

    async def tools(self, format: Literal["openai", "anthropic", "gemini"]) -> List[Json]:
        """Six tools as function schemas for a model's API: openai, anthropic or gemini."""
        return cast(List[Json], await self._transport.json(Call("GET", "/api/v1/tools", {"format": format})))
