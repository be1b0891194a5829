"""The exceptions of this package; all are subclasses of InboxdError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

if TYPE_CHECKING:
    from .contract import Message

__all__ = ["ApiError", "InboxdError", "NotReached", "TimedOut", "UnexpectedAnswer", "WebhookError"]


class InboxdError(Exception):
    """The base class of all exceptions of this package."""


class ApiError(InboxdError):
    """The service refused the call; ``detail`` is its own explanation, and ``code`` is for programs."""

    def __init__(
        self, status: int, detail: str, request_id: str = "", retry_after: Optional[float] = None, code: str = "", field: Optional[str] = None
    ) -> None:
        super().__init__(f"{detail} (HTTP {status}{f', request {request_id}' if request_id else ''})")
        self.status = status  #: HTTP status: 400, 401, 403, 404, 413, 422, 429, 500, 503
        self.detail = detail
        self.request_id = request_id  #: identifies the call in the log of the service
        self.retry_after = retry_after  #: seconds that the service asks to wait; None: not given
        self.code = code  #: what went wrong, one of ``contract.ErrorCode``, such as "plan_limit"
        self.field = field  #: member of the body, query parameter or header field that caused it; None: none


class NotReached(InboxdError, ConnectionError):
    """The service could not be reached, or the connection broke."""

    def __init__(self, message: str, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  #: the service may have received the call


class TimedOut(InboxdError, TimeoutError):
    """A wait or a call took too long. A message may still arrive after a wait: wait again."""

    def __init__(
        self, message: str, message_id: Optional[int] = None, subject: Optional[str] = None, arrived: "Sequence[Message]" = (),
    ) -> None:
        super().__init__(message)
        self.message_id = message_id  #: for a wait for a code: the newest message without a code; None: there is none
        self.subject = subject  #: of that message
        #: for a wait for a code: what did arrive, newest first, at most 10, with id, subject, from, received_at, otp, otp_candidates, is_read
        self.arrived = list(arrived)


class UnexpectedAnswer(InboxdError):
    """The response is not from the inbox service: a proxy's page, truncated JSON, or missing fields."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class WebhookError(InboxdError):
    """A webhook that must not be trusted; the message says why. Respond with 400."""
