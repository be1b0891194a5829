"""Fixtures for pytest: an inbox for each test, deleted afterwards."""

from __future__ import annotations

from typing import Iterator

import pytest

from . import Inbox, Inboxd


@pytest.fixture(scope="session")
def inboxd() -> Iterator[Inboxd]:
    """A client of the service that INBOX_BASE_URL and INBOX_API_KEY name."""
    with Inboxd() as client:
        yield client


@pytest.fixture
def inbox(inboxd: Inboxd) -> Iterator[Inbox]:
    """An inbox of this test alone."""
    made = inboxd.inboxes.create()
    yield made
    made.delete()
