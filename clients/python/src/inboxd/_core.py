"""What both clients share and what needs no connection: calls, which of them may be repeated, answers, streams."""

from __future__ import annotations

import datetime
import email.utils
import json
import os
import random
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote

from .errors import ApiError, InboxdError, NotReached, UnexpectedAnswer

Moment = Union[datetime.datetime, str]  #: ISO 8601 with an offset, a date, or a datetime that knows its zone

LONGEST_PAUSE = 30.0
POLL_SECONDS = 50
WINDOW = 15 * 60


@dataclass
class Call:
    """One call on its way."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    safe: bool = False  #: it may be repeated although it was perhaps carried out
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
    return "/".join(["/api/v1/inboxes", quote(address, safe="@+"), *(quote(str(part), safe="") for part in rest)])


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
    if isinstance(err, ApiError):
        return err.status in (429, 503) or (call.safe and err.status >= 500 and err.status != 507)
    if isinstance(err, UnexpectedAnswer):
        return call.safe and err.status >= 500
    return isinstance(err, NotReached) and (call.safe or not err.sent)


def passes(err: InboxdError) -> bool:
    """Tell what is over soon from what is not."""
    if isinstance(err, (ApiError, UnexpectedAnswer)):
        return err.status >= 500 or err.status == 429
    return isinstance(err, NotReached)


def asked_pause(err: InboxdError) -> float:
    return (err.retry_after or 0.0) if isinstance(err, ApiError) else 0.0


class Blocks:
    """Puts what a stream says back together (WHATWG HTML section 9.2)."""

    def __init__(self) -> None:
        self._rest = b""
        self._id, self._data, self._gap = "", [], False  # type: Tuple[str, List[bytes], bool]

    def take(self, some: bytes) -> Iterator[Tuple[str, bytes, bool]]:
        """Yield id, data and whether events are missing, of each block that is whole now."""
        *lines, self._rest = (self._rest + some).split(b"\n")
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
    """Which mail an inbox object has handed out already."""

    def __init__(self) -> None:
        self.codes: Dict[Tuple[Optional[str], ...], int] = {}  #: the last one, for each choice of sender, subject and recipient
        self.messages: Dict[int, bool] = {}
        self.settled = 0  #: all messages up to this one were handed out
