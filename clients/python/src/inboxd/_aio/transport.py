"""Requests with retries, and paged lists."""

from __future__ import annotations

import asyncio
import copy
import json
import time as clock
from typing import Any, AsyncGenerator, Callable, Dict, Optional, cast

import httpx

from .._core import LONGEST_PAUSE, Call, credential, decoded, may_repeat, pause_before, place, refusal, skew
from ..errors import InboxdError, NotReached, TimedOut


class AsyncTransport:
    """Makes calls, retries them where that is safe, and raises the errors."""

    def __init__(self, base_url: Optional[str], api_key: Optional[str], timeout: float, retries: int, http: Optional[httpx.AsyncClient]) -> None:
        self.base = place(base_url)
        self.timeout = timeout
        self.retries = retries
        self.skew = 0.0
        self.headers = {"Accept": "application/json", **credential(api_key)}
        # many idle connections, so that many waits can reuse them
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=1000)
        self.own = http is None
        self.http = http or httpx.AsyncClient(limits=limits)

    def with_options(self, timeout: Optional[float], retries: Optional[int]) -> "AsyncTransport":
        """A copy with other limits and the same connections; None: unchanged."""
        other = copy.copy(self)
        other.timeout = self.timeout if timeout is None else timeout
        other.retries = self.retries if retries is None else retries
        return other

    def with_credential(self, api_key: str) -> "AsyncTransport":
        """A copy with another credential and the same connections."""
        other = copy.copy(self)
        other.headers = {"Accept": "application/json", **credential(api_key)}
        return other

    async def json(self, call: Call, timeout: Optional[float] = None) -> Any:
        """Make a call and return its decoded response."""
        return await self._attempts(call, timeout, decoded)

    async def member(self, call: Call, timeout: Optional[float] = None) -> Any:
        """Make a call and return the field ``call.member`` of its response."""
        return (await self.json(call, timeout))[call.member]

    async def body(self, call: Call) -> bytes:
        """Make a call and return the body of its response."""
        return cast(bytes, await self._attempts(call, None, lambda _, __, body: body))

    async def _attempts(self, call: Call, timeout: Optional[float], read: Callable[[Call, int, bytes], Any]) -> Any:
        time_left = self.timeout if timeout is None else timeout
        end = clock.monotonic() + time_left
        n = 0
        while True:
            try:
                response = await self.open(call, max(0.001, end - clock.monotonic()))
                return read(call, response.status_code, response.content)
            except InboxdError as err:
                if isinstance(err, TimedOut):
                    raise TimedOut(f"{call}: no response within {time_left:g} s") from err
                pause = pause_before(n, err)
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
        """Make one attempt. The caller reads the body of a stream."""
        limits = httpx.Timeout(timeout, read=silence or timeout)
        try:
            response = await self.http.send(self.request(call, limits), stream=stream, follow_redirects=False)
            if stream and not response.is_success:
                await response.aread()
                await response.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as err:
            raise NotReached(f"{call}: cannot reach {self.base}: {err or type(err).__name__}", sent=False) from err
        except httpx.TimeoutException as err:
            raise TimedOut(f"{call}: no response within {timeout:g} s") from err
        except (httpx.TransportError, httpx.StreamError) as err:
            raise NotReached(f"{call}: the connection to {self.base} broke: {err or type(err).__name__}") from err
        self.skew = skew(response.headers.get("Date"))
        if not response.is_success:
            raise refusal(call, response.status_code, response.headers, response.content)
        return response


async def pages(transport: AsyncTransport, path: str, member: str, query: Dict[str, Any]) -> AsyncGenerator[Any, None]:
    """Iterate over a paged list."""
    while True:
        page = await transport.json(Call("GET", path, query, member=member))
        for one in page[member]:
            yield one
        if not page.get("next_cursor"):
            return
        query = {**query, "cursor": page["next_cursor"]}
