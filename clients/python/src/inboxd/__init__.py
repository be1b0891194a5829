"""E-mail inboxes for software agents and test suites.

>>> inbox = Inboxd().inboxes.create()
>>> sign_up(inbox.address)
>>> code = inbox.wait_for_otp()

Inboxd and its objects block. AsyncInboxd is the same client for asyncio.
"""

from . import contract
from ._aio.calendar import AsyncCalendar
from ._aio.client import AsyncInboxd
from ._aio.inbox import AsyncInbox
from ._sync.calendar import Calendar
from ._sync.client import Inboxd
from ._sync.inbox import Inbox
from .errors import ApiError, InboxdError, NotReached, TimedOut, UnexpectedAnswer, WebhookError
from .webhook import verify_webhook

__all__ = [
    "ApiError", "AsyncCalendar", "AsyncInbox", "AsyncInboxd", "Calendar", "Inbox", "Inboxd", "InboxdError", "NotReached", "TimedOut", "UnexpectedAnswer",
    "WebhookError", "contract", "verify_webhook",
]
