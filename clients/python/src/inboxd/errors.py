"""What can go wrong, as one of four kinds; every one is an InboxdError."""

from __future__ import annotations

from typing import Optional

__all__ = ["ApiError", "InboxdError", "NotReached", "TimedOut", "UnexpectedAnswer", "WebhookError"]


class InboxdError(Exception):
    """Everything that this package raises."""


class ApiError(InboxdError):
    """The service refused the call; ``detail`` is its own sentence for a person."""

    def __init__(self, status: int, detail: str, request_id: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(f"{detail} (HTTP {status}{f', request {request_id}' if request_id else ''})")
        self.status = status  #: HTTP status: 400, 401, 403, 404, 413, 422, 429, 500, 503
        self.detail = detail
        self.request_id = request_id  #: finds the call in the log of the service
        self.retry_after = retry_after  #: seconds that the service asks to wait; None: it does not say


class NotReached(InboxdError, ConnectionError):
    """The service was not reached, or the connection broke."""

    def __init__(self, message: str, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  #: something may have reached the service


class TimedOut(InboxdError, TimeoutError):
    """A wait or a call took longer than it may. A mail that is waited for may still come: wait again."""

    def __init__(self, message: str, message_id: Optional[int] = None, subject: Optional[str] = None) -> None:
        super().__init__(message)
        self.message_id = message_id  #: of a wait for a code: the newest message that came without one; None: nothing came
        self.subject = subject  #: of that message


class UnexpectedAnswer(InboxdError):
    """What answers is not the inbox service: a proxy's page, JSON that is cut, members that are missing."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class WebhookError(InboxdError):
    """A webhook that must not be believed; the message says why. Answer it with 400."""
