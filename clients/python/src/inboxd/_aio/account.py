"""What belongs to the account: its webhooks, domains, keys and sessions."""

from __future__ import annotations

from typing import Any, AsyncGenerator, List, Literal, Optional, Sequence, Tuple, cast

from .._core import Call, Json, given, path_of, quoted
from ..contract import Account as AccountInfo
from ..contract import Delivery, Domain, Encryption, Key, Session, Subscription, Webhook
from .transport import AsyncTransport, pages


class AsyncWebhooks:
    """The webhooks of the account: ``client.webhooks``. The calls need an account key with webhooks:manage, or a session."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, url: str, event: Subscription, *, inbox: Optional[str] = None) -> Tuple[Webhook, str]:
        """Add a webhook and return it with its secret, which is shown only here. ``event`` is a name, ``calendar.*`` or ``*``."""
        made = await self._transport.json(Call("POST", "/api/v1/webhooks", body=given(url=url, event=event, inbox=inbox), member="webhook"))
        return made["webhook"], made["secret"]

    async def list(self) -> List[Webhook]:
        """All webhooks."""
        return cast("List[Webhook]", await self._transport.member(Call("GET", "/api/v1/webhooks", member="webhooks")))

    async def get(self, id: int) -> Webhook:
        """One webhook."""
        return cast(Webhook, await self._transport.member(Call("GET", path_of("webhooks", str(id)), member="webhook")))

    async def update(self, id: int, *, url: Optional[str] = None, event: Optional[Subscription] = None) -> Webhook:
        """Change the URL or the events. Pending deliveries go to the new URL."""
        call = Call("PATCH", path_of("webhooks", str(id)), body=given(url=url, event=event), safe=True, member="webhook")
        return cast(Webhook, await self._transport.member(call))

    async def delete(self, id: int) -> None:
        """Delete a webhook and its pending deliveries."""
        await self._transport.json(Call("DELETE", path_of("webhooks", str(id)), member="ok"))

    async def rotate_secret(self, id: int) -> str:
        """Replace the secret and return the new one. The previous secret also signs for one more day."""
        return cast(str, await self._transport.member(Call("POST", path_of("webhooks", str(id), "rotate-secret"), member="secret")))

    async def test(self, id: int) -> Json:
        """Post a sample event; the result says how the receiver responded: ``ok``, ``status_code``, ``duration_ms``, ``error``."""
        return cast(Json, await self._transport.json(Call("POST", path_of("webhooks", str(id), "test"), member="ok")))

    async def deliveries(self, *, webhook_id: Optional[int] = None, before: Optional[int] = None, limit: Optional[int] = None) -> List[Delivery]:
        """The attempts of the last 7 days, newest first: one page of ``limit`` (by default 100) with ids below ``before``."""
        call = Call("GET", "/api/v1/webhooks/deliveries", given(webhook_id=webhook_id, before=before, limit=limit), member="deliveries")
        return cast("List[Delivery]", await self._transport.member(call))

    async def redeliver(self, delivery_id: int) -> None:
        """Attempt a delivery again that has succeeded or failed."""
        await self._transport.json(Call("POST", path_of("webhooks", "deliveries", delivery_id, "redeliver"), member="ok"))


class AsyncDomains:
    """Own domains of the account: ``client.domains``. The calls need an account key with domains:manage, or a session."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def claim(self, domain: str) -> Domain:
        """Add a domain; the result has the DNS records to publish."""
        return cast(Domain, await self._transport.member(Call("POST", "/api/v1/domains", body={"domain": domain}, member="domain")))

    async def list(self) -> List[Domain]:
        """All domains."""
        return cast("List[Domain]", await self._transport.member(Call("GET", "/api/v1/domains", member="domains")))

    async def get(self, domain: str) -> Domain:
        """One domain with the result of its latest check."""
        return cast(Domain, await self._transport.member(Call("GET", path_of("domains", domain), member="domain")))

    async def verify(self, domain: str) -> Domain:
        """Check the DNS records now."""
        return cast(Domain, await self._transport.member(Call("POST", path_of("domains", domain, "verify"), safe=True, member="domain")))

    async def zone(self, domain: str) -> str:
        """The records as a zone file that can be imported unchanged."""
        return (await self._transport.body(Call("GET", path_of("domains", domain, "zone")))).decode()

    async def release(self, domain: str) -> None:
        """Remove a domain. Fails with 400 while inboxes exist under it."""
        await self._transport.json(Call("DELETE", path_of("domains", domain), member="ok"))


Lifetime = Optional[Literal[30, 90, 365]]


class AsyncKeys:
    """The keys of the account: ``client.keys``. The calls need a session; see ``log_in``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, *, label: Optional[str] = None, scopes: Optional[Sequence[str]] = None, expires_in_days: Lifetime = None) -> Json:
        """Create an account key, by default with inbox:read. ``key`` of the result is shown only here."""
        order = given(label=label, scopes=scopes and [*scopes], expires_in_days=expires_in_days)
        return cast(Json, await self._transport.json(Call("POST", "/api/keys", body=order, member="key")))

    async def list(self) -> AsyncGenerator[Key, None]:
        """Iterate over account keys and inbox keys, oldest first."""
        async for one in pages(self._transport, "/api/keys", "keys", {}):
            yield one

    async def revoke(self, id: int) -> None:
        """Revoke a key immediately."""
        await self._transport.json(Call("DELETE", f"/api/keys/{id}", member="ok"))

    async def create_for_inbox(self, address: str, *, scopes: Optional[Sequence[str]] = None, expires_in_days: Lifetime = None) -> Json:
        """Create the key of an inbox, which can have only one. ``api_key`` of the result is shown only here."""
        order = given(scopes=scopes and [*scopes], expires_in_days=expires_in_days)
        return cast(Json, await self._transport.json(Call("POST", f"/api/inboxes/{quoted(address)}/key", body=order, member="api_key")))

    async def revoke_for_inbox(self, address: str) -> None:
        """Revoke the key of an inbox, so that a new one can be created."""
        await self._transport.json(Call("DELETE", f"/api/inboxes/{quoted(address)}/key", member="ok"))


class AsyncAccount:
    """The account: ``client.account``. Unless stated otherwise, the calls need a session; see ``log_in``."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def get(self) -> AccountInfo:
        """The account with the limits of its plan and their usage."""
        return cast(AccountInfo, await self._transport.member(Call("GET", "/api/account", member="account")))

    async def sessions(self) -> List[Session]:
        """The sessions, oldest first."""
        return cast("List[Session]", await self._transport.member(Call("GET", "/api/account/sessions", member="sessions")))

    async def end_session(self, id: str) -> None:
        """End a session immediately."""
        await self._transport.json(Call("DELETE", f"/api/account/sessions/{quoted(id)}", member="ok"))

    async def log_out(self) -> None:
        """End the session of this client."""
        await self._ok("/api/auth/logout")

    async def change_password(self, old: str, new: str) -> None:
        """Set a new password and end all other sessions."""
        await self._ok("/api/account/password", old=old, new=new)

    async def set_encryption(self, public_key: str, *, password: Optional[str] = None) -> Encryption:
        """Set the public key for encrypted inboxes, an age recipient. Replacing a key needs the password."""
        call = Call("PUT", "/api/account/encryption", body=given(public_key=public_key, password=password), member="encryption")
        return cast(Encryption, await self._transport.member(call))

    async def delete_encryption(self, password: str) -> Encryption:
        """Remove the public key. Fails with 400 while encrypted inboxes exist."""
        call = Call("DELETE", "/api/account/encryption", body={"password": password}, member="encryption")
        return cast(Encryption, await self._transport.member(call))

    async def request_verification(self) -> None:
        """Send the link that verifies the account's address again."""
        await self._ok("/api/auth/verify-email")

    async def confirm_verification(self, token: str) -> None:
        """Verify an address with the token of a link. Needs no credential."""
        await self._ok("/api/auth/verify-email/confirm", token=token)

    async def request_password_reset(self, email: str) -> None:
        """Send a reset link to the address if an account has it. Needs no credential."""
        await self._ok("/api/auth/password-reset", email=email)

    async def confirm_password_reset(self, token: str, password: str) -> Json:
        """Set a new password with the token of a link, and count what that ended. Needs no credential."""
        return await self._ok("/api/auth/password-reset/confirm", token=token, password=password)

    async def _ok(self, path: str, **body: Any) -> Json:
        return cast(Json, await self._transport.json(Call("POST", path, body=body, member="ok")))
