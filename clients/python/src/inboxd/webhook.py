"""Verification of webhooks (standard-webhooks)."""

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

    ``body`` is the body as received: JSON that was parsed and encoded again does not match. ``secret`` is the secret returned when the
    webhook was created, ``whsec_...``. ``tolerance`` is how many seconds the time of signing may differ from now. Raises WebhookError.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        ident, stamp, signatures = given["webhook-id"], given["webhook-timestamp"], given["webhook-signature"]
    except KeyError as missing:
        raise WebhookError(f"The request is not a webhook: {missing.args[0]} is missing") from None
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 15):
        raise WebhookError("webhook-timestamp is not a number of seconds")
    off = (time.time() if now is None else now) - int(stamp)
    if abs(off) > tolerance:
        raise WebhookError(f"The webhook was signed {int(abs(off))} seconds {'ago' if off > 0 else 'ahead of this clock'}. The limit is {tolerance:g} seconds; check the clocks")
    try:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise WebhookError("Invalid secret (use whsec_ followed by base64)")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    want = base64.b64encode(hmac.new(key, f"{ident}.{stamp}.".encode() + raw, hashlib.sha256).digest())
    for one in signatures.split(" "):
        if one.startswith("v1,") and hmac.compare_digest(one[3:].encode(), want):
            return _event(raw)
    raise WebhookError("No signature matches: the body was changed, or the secret belongs to another webhook")


def _event(raw: bytes) -> "Event":
    try:
        return cast("Event", json.loads(raw))
    except ValueError as err:
        raise WebhookError("The signature is valid, but the body is not an event") from err
