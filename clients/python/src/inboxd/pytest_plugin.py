"""Fixtures for pytest: an inbox for each test, deleted afterwards."""

from __future__ import annotations

from typing import Iterator

import pytest

from . import Inbox, Inboxd


@pytest.fixture(scope="session")
def inboxd() -> Iterator[Inboxd]:
    """A client configured by INBOX_BASE_URL and INBOX_API_KEY."""
    with Inboxd() as client:
        yield client


@pytest.fixture
def inbox(inboxd: Inboxd) -> Iterator[Inbox]:
    """A new inbox for this test."""
    made = inboxd.inboxes.create()
    yield made
    made.delete()
