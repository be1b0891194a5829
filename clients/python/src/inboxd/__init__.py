"""E-mail inboxes for software agents and test suites.

>>> inbox = Inboxd().inboxes.create()
>>> sign_up(inbox.address)
>>> code = inbox.wait_for_otp()

Inboxd and its objects block. AsyncInboxd is the same client for asyncio.
"""

from . import contract
from ._aio.account import AsyncAccount, AsyncDomains, AsyncKeys, AsyncWebhooks
from ._aio.calendar import AsyncCalendar
from ._aio.client import AsyncInboxd
from ._aio.inbox import AsyncInbox
from ._sync.account import Account, Domains, Keys, Webhooks
from ._sync.calendar import Calendar
from ._sync.client import Inboxd
from ._sync.inbox import Inbox
from .errors import ApiError, InboxdError, NotReached, TimedOut, UnexpectedAnswer, WebhookError
from .webhook import verify_webhook

__all__ = [
    "Account", "ApiError", "AsyncAccount", "AsyncCalendar", "AsyncDomains", "AsyncInbox", "AsyncInboxd", "AsyncKeys", "AsyncWebhooks", "Calendar", "Domains",
    "Inbox", "Inboxd", "InboxdError", "Keys", "NotReached", "TimedOut", "UnexpectedAnswer", "WebhookError", "Webhooks", "contract", "verify_webhook",
]
