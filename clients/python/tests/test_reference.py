"""The reference consists of docstrings: each public name has one."""

from __future__ import annotations

import inspect
from typing import Any, Iterator, Tuple

import pytest

import inboxd


def public() -> Iterator[Tuple[str, Any]]:
    for name in inboxd.__all__:
        thing = getattr(inboxd, name)
        yield name, thing
        if inspect.isclass(thing):
            yield from ((f"{name}.{k}", v) for k, v in vars(thing).items() if not k.startswith("_") and (callable(v) or isinstance(v, property)))


@pytest.mark.parametrize("name, thing", public(), ids=lambda v: v if isinstance(v, str) else "")
def test_said_in_the_reference(name: str, thing: Any) -> None:
    assert (thing.__doc__ or "").strip(), f"{name} has no docstring"
