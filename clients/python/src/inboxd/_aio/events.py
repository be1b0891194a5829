"""Events as they happen: by a stream, or by long polls."""

from __future__ import annotations

import asyncio
import json
from typing import AsyncGenerator, Callable, Optional, cast

import httpx

from .._core import LONGEST_PAUSE, POLL_SECONDS, Blocks, Call, Json, Way, given, passes, pause_before
from ..contract import FollowedEvent
from ..errors import ApiError, InboxdError, NotReached, TimedOut, UnexpectedAnswer
from .transport import AsyncTransport


class _NoStream(InboxdError):
    """The reason that a stream ended, if another stream would fail, too."""


async def follow(
    transport: AsyncTransport, path: str, after: Optional[str], to: Optional[str], on_gap: Optional[Callable[[], None]], way: Way, silence: float,
) -> AsyncGenerator[FollowedEvent, None]:
    cursor = after if after and after != "now" else ""
    if not cursor:  # the current cursor, so that no event is lost if the stream never begins
        cursor = await transport.member(Call("GET", path, {"after": "now"}, member="next"))
    if way != "poll":
        events = _streams(transport, path, cursor, to, on_gap, silence)
        try:
            async for event in events:
                cursor = event["cursor"]
                if "event" in event:
                    yield cast(FollowedEvent, event)
        except _NoStream:
            if way == "stream":
                raise
        finally:
            await events.aclose()  # when the caller stops iterating, the connection ends, too
    vain = 0
    while True:
        try:
            call = Call("GET", path, {"after": cursor, "wait": POLL_SECONDS, "to": to}, member="next")
            page = await transport.json(call, POLL_SECONDS + 15)
            vain = 0
        except InboxdError as err:
            if not passes(err):
                raise
            pause = min(LONGEST_PAUSE, pause_before(vain, err))
            await asyncio.sleep(pause)
            vain += 1
            continue
        if page.get("gap") and on_gap:
            on_gap()
        for i, one in enumerate(page["events"]):
            yield cast(FollowedEvent, {**one, "cursor": page["next"] if i == len(page["events"]) - 1 else cursor})
        cursor = page["next"]


async def _streams(
    transport: AsyncTransport, path: str, cursor: str, to: Optional[str], on_gap: Optional[Callable[[], None]], silence: float,
) -> AsyncGenerator[Json, None]:
    """Yield events, and items with only a ``cursor``, which advance the position."""
    vain, begun = 0, False
    while True:
        call = Call("GET", path, given(to=to), headers={"Accept": "text/event-stream", "Last-Event-ID": cursor})
        try:
            response = await transport.open(call, 30, stream=True, silence=silence if begun else min(silence, 10))
            try:
                if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    raise _NoStream("the response is not an event stream")
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
                            raise UnexpectedAnswer("The stream contains an invalid event", 200) from err
                        yield {**event, "cursor": cursor}
                raise NotReached("The stream ended")
            except httpx.TimeoutException as err:
                raise TimedOut("No data on the stream") from err
            except (httpx.TransportError, httpx.StreamError) as err:
                raise NotReached(f"The stream broke: {err}") from err
            finally:
                await response.aclose()
        except InboxdError as err:
            if isinstance(err, TimedOut) and not begun or isinstance(err, ApiError) and err.status in (405, 406):
                raise _NoStream("no data on the stream, something on the way buffers it") from err
            if not (passes(err) or isinstance(err, TimedOut)) or not begun and vain >= 2:
                raise
            pause = min(LONGEST_PAUSE, pause_before(vain, err))
        await asyncio.sleep(pause)
        vain += 1
