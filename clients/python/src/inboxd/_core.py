"""What both clients share and what needs no connection: calls, which of them may be repeated, answers, streams."""

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

Moment = Union[datetime.datetime, str]  #: ISO 8601 with an offset, a date, or a datetime that knows its zone

Json = Dict[str, Any]
Direction = Literal["in", "out", "all"]
Way = Literal["auto", "stream", "poll"]

LONGEST_PAUSE = 30.0
LONGEST_LINE = 4 << 20  #: octets of a line of a stream that are waited for
POLL_SECONDS = 50  #: of one long poll
GRACE = 2.0  #: seconds that a wait may take beyond its time, for the last answer to come
WINDOW = 15 * 60  #: how far back, in seconds, a wait looks at an inbox that this program did not make


@dataclass
class Call:
    """One call on its way."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    safe: bool = False  #: it may be repeated although it was perhaps carried out, which its method and header do not say
    headers: Mapping[str, str] = field(default_factory=dict)
    member: str = ""  #: that the answer must have

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def params(self) -> Dict[str, str]:
        return {name: wire(value) for name, value in self.query.items() if value is not None and value != ""}


def wire(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs its zone: datetime.now(timezone.utc)")
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)


def given(**fields: Any) -> Dict[str, Any]:
    """Drop what was not given."""
    return {name: value for name, value in fields.items() if value is not None}


def once(key: Optional[str]) -> Dict[str, str]:
    """The name under which a call is done one time."""
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def inbox_path(address: str, *rest: Any) -> str:
    return path_of("inboxes", address, *rest)


def path_of(kind: str, address: str, *rest: Any) -> str:
    return "/".join([f"/api/v1/{kind}", quote(address, safe="@+"), *(quote(str(part), safe="") for part in rest)])


def place(base_url: Optional[str]) -> str:
    return (base_url or os.environ.get("INBOX_BASE_URL") or "http://127.0.0.1:8080").rstrip("/")


def credential(api_key: Optional[str]) -> Dict[str, str]:
    key = os.environ.get("INBOX_API_KEY", "") if api_key is None else api_key
    if not key:
        return {}
    return {"Authorization": f"Bearer {key}"} if key.startswith("svc_sess_") else {"X-API-Key": key}


def back_off(n: int) -> float:
    """The pause before repeat n (from 0), in seconds: doubled, with jitter, at most 8."""
    return float(min(8.0, 0.2 * 2 ** min(n, 10)) * (0.75 + random.random() / 2))


def skew(date: Optional[str]) -> float:
    """How far the clock of the service is ahead of ours, in seconds."""
    try:
        off = email.utils.parsedate_to_datetime(date or "").timestamp() - time.time()
    except (TypeError, ValueError):
        return 0.0
    return off if abs(off) > 2 else 0.0


def decoded(call: Call, status: int, body: bytes) -> Any:
    """The answer of a call that was carried out."""
    try:
        answer = json.loads(body)
    except ValueError as cut:
        raise UnexpectedAnswer(f"{call}: the answer is no JSON, or was cut: {excerpt(body)}", status) from cut
    if call.member and not (isinstance(answer, dict) and call.member in answer):
        raise UnexpectedAnswer(f"{call}: the answer is not that of the inbox service: {excerpt(body)}", status)
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
    return ApiError(status, detail, headers.get("X-Request-Id", ""), float(after) if after.isdigit() else None)


def excerpt(body: bytes) -> str:
    text = body[:200].decode("utf-8", "replace")
    return repr(text + ("…" if len(body) > 200 else ""))


def may_repeat(call: Call, err: InboxdError) -> bool:
    """Tell what was surely not carried out, or may be twice, from everything else."""
    twice = call.safe or call.method in ("GET", "PUT") or "Idempotency-Key" in call.headers
    if isinstance(err, ApiError):
        return err.status in (429, 503) or (twice and err.status >= 500 and err.status != 507)
    if isinstance(err, UnexpectedAnswer):
        return twice and err.status >= 500
    return isinstance(err, NotReached) and (twice or not err.sent)


def passes(err: InboxdError) -> bool:
    """Tell what is over soon, such as a restart of the service, from what is not."""
    if isinstance(err, (ApiError, UnexpectedAnswer)):
        return err.status >= 500 or err.status == 429
    return isinstance(err, NotReached)


def pause_before(n: int, err: InboxdError) -> float:
    """The pause before repeat n, in seconds: ours, or a longer one that the service asks for."""
    return max(back_off(n), (err.retry_after or 0.0) if isinstance(err, ApiError) else 0.0)


#: What programs put before the subject of an answer, in the languages they speak, perhaps with a count.
PREFIX = re.compile(r"\s*(?:re|aw|antw|sv|vs|rif|odp|ynt|r|res|回复|回覆|答复|返信|ответ|отв)\s*(?:\[\d+\]|\(\d+\)|\^\d+)?\s*[:：]", re.IGNORECASE)


def answering(message: Message) -> Json:
    """The letter that answers a message, in its conversation and without a text: a received one at its Reply-To, else its From, a sent one to whom it went."""
    if message["encrypted"]:
        raise InboxdError(f"Message {message['id']} is encrypted: its subject is not known here")
    boxes = message["to"] if message["direction"] == "out" else message["reply_to"]
    if message["direction"] == "in" and not any(box["email"] for box in boxes):
        boxes = [message["from"]]
    to, *cc = [box["email"] for box in boxes if box["email"]] or [""]
    if not to:
        raise InboxdError(f"Message {message['id']} names no address to answer")
    known = message["internet_message_id"]
    return given(to=to, cc=cc or None, subject=answered(message["subject"] or ""), in_reply_to=f"<{known}>" if answerable(known or "") else None)


def answered(subject: str) -> str:
    """The subject of an answer: "Re: " once, whatever was there (RFC 5322 section 3.6.5)."""
    clean = re.sub(r"[\x00-\x1f\x7f]", " ", subject)
    while (before := PREFIX.match(clean)) is not None:
        clean = clean[before.end():]
    return f"Re: {clean.strip()}"[:200].rstrip()


def answerable(ident: str) -> bool:
    """Whether the service takes a Message-ID for in_reply_to."""
    return len(ident) <= 248 and re.fullmatch(r"(?=[!-~]+\Z)(?!.*=\?)[^@<>,]+@[^<>,]+", ident) is not None


class Blocks:
    """Puts what a stream says back together (WHATWG HTML section 9.2)."""

    def __init__(self) -> None:
        self._rest = b""
        self._id, self._data, self._gap = "", [], False  # type: Tuple[str, List[bytes], bool]

    def take(self, some: bytes) -> Iterator[Tuple[str, bytes, bool]]:
        """Yield id, data and whether events are missing, of each block that is whole now."""
        *lines, self._rest = (self._rest + some).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise UnexpectedAnswer("The stream holds a line without an end", 200)
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
    """Which mail an inbox object has handed out already; several threads may wait at one."""

    def __init__(self) -> None:
        self.codes: Dict[Tuple[object, ...], int] = {}  #: the last one, for each choice of sender, subject, recipient and verification
        self.settled = 0  #: all messages up to this one were handed out
        self._messages: Set[int] = set()  #: beyond settled
        self._lock = threading.Lock()

    def has(self, id: int) -> bool:
        return id <= self.settled or id in self._messages

    def take(self, id: int) -> bool:
        """Hand out a message; False: it was."""
        with self._lock:
            new = not self.has(id)
            self._messages.add(id)
            return new

    def take_code(self, choice: Tuple[object, ...], id: int) -> bool:
        """Hand out the code of a message; False: it was, or a newer one."""
        with self._lock:
            new = id > self.codes.get(choice, 0)
            if new:
                self.codes[choice] = id
            return new

    def settle(self, id: int) -> None:
        with self._lock:
            self.settled = max(self.settled, id)
            self._messages = {one for one in self._messages if one > self.settled}
