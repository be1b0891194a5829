"""Code that both clients share and that needs no connection: calls, retries, responses, streams."""

from __future__ import annotations

import datetime
import email.utils
import json
import os
import random
import re
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, Set, Tuple, Union
from urllib.parse import quote

from .contract import Message
from .errors import ApiError, InboxdError, NotReached, UnexpectedAnswer

Moment = Union[datetime.datetime, str]  #: ISO 8601 with an offset, a date, or a datetime with a time zone

Json = Dict[str, Any]
Direction = Literal["in", "out", "all"]
Way = Literal["auto", "stream", "poll"]

LONGEST_PAUSE = 30.0
LONGEST_LINE = 4 << 20  #: maximum octets of a line of a stream
POLL_SECONDS = 50  #: of one long poll
GRACE = 2.0  #: seconds that a wait may exceed its timeout to receive the last response
WINDOW = 15 * 60  #: seconds before now whose messages a wait considers, in an inbox that this program did not create


@dataclass
class Call:
    """One call of the API."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    safe: bool = False  #: safe to execute twice, although its method and headers do not imply it
    headers: Mapping[str, str] = field(default_factory=dict)
    member: str = ""  #: required in the response

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def params(self) -> Dict[str, str]:
        return {name: wire(value) for name, value in self.query.items() if value is not None and value != ""}


def wire(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("the datetime has no time zone (use a value such as datetime.now(timezone.utc))")
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)


def given(**fields: Any) -> Dict[str, Any]:
    """Return the fields that were given (not None)."""
    return {name: value for name, value in fields.items() if value is not None}


def once(key: Optional[str]) -> Dict[str, str]:
    """The Idempotency-Key header of a call; without a key, one is generated."""
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def inbox_path(address: str, *rest: Any) -> str:
    return path_of("inboxes", address, *rest)


def quoted(address: str) -> str:
    """A part of a path."""
    return quote(address, safe="@+")


def path_of(kind: str, address: str, *rest: Any) -> str:
    return "/".join([f"/api/v1/{kind}", quoted(address), *(quote(str(part), safe="") for part in rest)])


def place(base_url: Optional[str]) -> str:
    base = (base_url or os.environ.get("INBOX_BASE_URL") or "http://127.0.0.1:8080").rstrip("/")
    if not re.fullmatch(r"https?://[^/?#\s]+[^?#\s]*", base, re.IGNORECASE):
        raise InboxdError(f"invalid base URL {base!r}: use a URL such as http://127.0.0.1:8080 or https://mail.example.com")
    return base


def credential(api_key: Optional[str]) -> Dict[str, str]:
    key = os.environ.get("INBOX_API_KEY", "") if api_key is None else api_key
    if not key:
        raise InboxdError("the API key is missing: set INBOX_API_KEY to a key of the service, svc_live_... or svc_sk_..., or pass api_key")
    return {"Authorization": f"Bearer {key}"} if key.startswith("svc_sess_") else {"X-API-Key": key}


def described(message: Message) -> str:
    """One line about a message and its code, for somebody who waits for one."""
    found, candidates = message["otp"], message.get("otp_candidates")
    if found:
        code = f"code {found['code']}, confidence {found['confidence']:.2f}"
    else:
        code = f"no code is certain enough, candidates {', '.join(candidates)}" if candidates else "no code"
    read = ", already read" if message["is_read"] else ""
    return f"message {message['id']} from {message['from']['email']}, subject {message['subject'] or ''!r}: {code}{read}"


def back_off(n: int) -> float:
    """The pause before retry n (from 0), in seconds: it doubles, with jitter, up to 8."""
    return float(min(8.0, 0.2 * 2 ** min(n, 10)) * (0.75 + random.random() / 2))


def skew(date: Optional[str]) -> float:
    """How far the clock of the service is ahead of ours, in seconds."""
    try:
        off = email.utils.parsedate_to_datetime(date or "").timestamp() - time.time()
    except (TypeError, ValueError):
        return 0.0
    return off if abs(off) > 2 else 0.0


def decoded(call: Call, status: int, body: bytes) -> Any:
    """The decoded response of a call that succeeded."""
    try:
        answer = json.loads(body)
    except ValueError as cut:
        raise UnexpectedAnswer(f"{call}: the response is not JSON or is truncated: {excerpt(body)}", status) from cut
    if call.member and not (isinstance(answer, dict) and call.member in answer):
        raise UnexpectedAnswer(f"{call}: the response is not from the inbox service: {excerpt(body)}", status)
    return answer


def refusal(call: Call, status: int, headers: Mapping[str, str], body: bytes) -> InboxdError:
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    detail = said.get("detail") if isinstance(said, dict) else None
    if not isinstance(detail, str):
        return UnexpectedAnswer(f"{call}: HTTP {status}, not from the inbox service: {excerpt(body)}", status)
    after = headers.get("Retry-After", "")
    return ApiError(status, detail, headers.get("X-Request-Id", ""), float(after) if after.isdigit() else None, said.get("code", ""), said.get("field"))


def excerpt(body: bytes) -> str:
    text = body[:200].decode("utf-8", "replace")
    return repr(text + ("…" if len(body) > 200 else ""))


def may_repeat(call: Call, err: InboxdError) -> bool:
    """Whether a failed call may be retried: it was certainly not executed, or may be executed twice."""
    twice = call.safe or call.method in ("GET", "PUT") or "Idempotency-Key" in call.headers
    if isinstance(err, ApiError):
        return err.status in (429, 503) or (twice and err.status >= 500 and err.status != 507)
    if isinstance(err, UnexpectedAnswer):
        return twice and err.status >= 500
    return isinstance(err, NotReached) and (twice or not err.sent)


def passes(err: InboxdError) -> bool:
    """Whether an error is likely to be temporary, such as a restart of the service."""
    if isinstance(err, (ApiError, UnexpectedAnswer)):
        return err.status >= 500 or err.status == 429
    return isinstance(err, NotReached)


def pause_before(n: int, err: InboxdError) -> float:
    """The pause before retry n, in seconds: our own, or a longer one that the service requests."""
    return max(back_off(n), (err.retry_after or 0.0) if isinstance(err, ApiError) else 0.0)


#: Prefixes that mail programs put before the subject of a reply, in several languages, optionally with a counter.
PREFIX = re.compile(r"\s*(?:re|aw|antw|sv|vs|rif|odp|ynt|r|res|回复|回覆|答复|返信|ответ|отв)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]", re.IGNORECASE)


def answering(message: Message) -> Json:
    """A letter without a text that replies to a message in its conversation.

    A reply to a received message goes to its Reply-To or else its From; one to a sent message, to its recipients.
    """
    if message["encrypted"]:
        raise InboxdError(f"Message {message['id']} is encrypted, so its subject is unknown")
    boxes = message["to"] if message["direction"] == "out" else message["reply_to"]
    if message["direction"] == "in" and not any(box["email"] for box in boxes):
        boxes = [message["from"]]
    to, *cc = [box["email"] for box in boxes if box["email"]] or [""]
    if not to:
        raise InboxdError(f"Message {message['id']} has no address to reply to")
    known = message["internet_message_id"]
    return given(to=to, cc=cc or None, subject=answered(message["subject"] or ""), in_reply_to=f"<{known}>" if answerable(known or "") else None)


def answered(subject: str) -> str:
    """The subject of a reply: "Re: " once, whatever prefixes there were (RFC 5322 section 3.6.5)."""
    clean = re.sub(r"[\x00-\x1f\x7f]", " ", subject)
    while (before := PREFIX.match(clean)) is not None:
        clean = clean[before.end():]
    return f"Re: {clean.strip()}"[:200].rstrip()


def answerable(ident: str) -> bool:
    """Whether the service accepts a Message-ID for in_reply_to."""
    return len(ident) <= 248 and re.fullmatch(r"(?=[!-~]+\Z)(?!.*=\?)[^@<>,]+@[^<>,]+", ident) is not None


class Blocks:
    """Parses an event stream (WHATWG HTML section 9.2)."""

    def __init__(self) -> None:
        self._rest = b""
        self._id, self._data, self._gap = "", [], False  # type: Tuple[str, List[bytes], bool]

    def take(self, some: bytes) -> Iterator[Tuple[str, bytes, bool]]:
        """Yield id, data and whether events are missing, for each block that is now complete."""
        *lines, self._rest = (self._rest + some).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise UnexpectedAnswer("A line of the stream is too long", 200)
        for line in lines:
            line = line[:-1] if line.endswith(b"\r") else line
            name, _, value = line.partition(b":")
            value = value[1:] if value.startswith(b" ") else value
            if not line:
                yield self._id, b"\n".join(self._data), self._gap
                self._id, self._data, self._gap = "", [], False
            elif name == b"id":
                self._id = value.decode("utf-8", "replace")
            elif name == b"data":
                self._data.append(value)
            elif line.startswith(b": older events"):
                self._gap = True


class Handed:
    """The messages that an inbox object has already returned. Several threads may wait at one inbox."""

    def __init__(self) -> None:
        self.codes: Dict[Tuple[object, ...], int] = {}  #: the id of the latest one, by filter (sender, subject, recipient, verified)
        self.settled = 0  #: all messages up to this id were returned
        self._messages: Set[int] = set()  #: beyond settled
        self._lock = threading.Lock()

    def has(self, id: int) -> bool:
        return id <= self.settled or id in self._messages

    def take(self, id: int) -> bool:
        """Record that a message is returned; False: it was before."""
        with self._lock:
            new = not self.has(id)
            self._messages.add(id)
            return new

    def take_code(self, choice: Tuple[object, ...], id: int) -> bool:
        """Record that the code of a message is returned; False: it was before, or a newer one was."""
        with self._lock:
            new = id > self.codes.get(choice, 0)
            if new:
                self.codes[choice] = id
            return new

    def settle(self, id: int) -> None:
        with self._lock:
            self.settled = max(self.settled, id)
            self._messages = {one for one in self._messages if one > self.settled}
