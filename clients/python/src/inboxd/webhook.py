"""Webhooks: whether a POST came from the service (standard-webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Mapping, Optional, Union, cast

from .errors import WebhookError

if TYPE_CHECKING:
    from .contract import Event

__all__ = ["verify_webhook"]


def verify_webhook(body: Union[bytes, str], headers: Mapping[str, str], secret: str, *, tolerance: float = 300, now: Optional[float] = None) -> "Event":
    """Check that a POST came from the service and return its event.

    ``body`` are the bytes as they came: JSON that was parsed and written again does not match. ``secret`` is as it was shown at the
    creation, ``whsec_...``; ``tolerance`` are the seconds that the time of signing may be off. Raises WebhookError.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        ident, stamp, signatures = given["webhook-id"], given["webhook-timestamp"], given["webhook-signature"]
    except KeyError as missing:
        raise WebhookError(f"The request has no {missing.args[0]}: it is no webhook, or something took it off") from None
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 15):
        raise WebhookError("webhook-timestamp is no number of seconds")
    off = (time.time() if now is None else now) - int(stamp)
    if abs(off) > tolerance:
        raise WebhookError(f"The webhook was signed {int(abs(off))} seconds {'ago' if off > 0 else 'ahead of this clock'}: it is old, or a clock is wrong")
    try:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise WebhookError("The secret is not one of this service: it looks like whsec_ and base64")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    want = base64.b64encode(hmac.new(key, f"{ident}.{stamp}.".encode() + raw, hashlib.sha256).digest())
    for one in signatures.split(" "):
        if one.startswith("v1,") and hmac.compare_digest(one[3:].encode(), want):
            return _event(raw)
    raise WebhookError("No signature matches: the body is not the bytes that were sent, or the secret is another webhook's")


def _event(raw: bytes) -> "Event":
    try:
        return cast("Event", json.loads(raw))
    except ValueError as err:
        raise WebhookError("The webhook is signed and holds no event") from err
