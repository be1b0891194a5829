"""Makes two parts of the package: contract.py, the types of the contract, and _sync, the same client as _aio without await."""

from __future__ import annotations

import json
import keyword
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src/inboxd"
CONTRACT = HERE / "../../http/contract/contract.json"

Schema = dict[str, Any]


class Types:
    """Writes schemas as TypedDicts; an object inside another one is named after where it stands."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.out: list[str] = []
        self.aliases: list[str] = []
        self.names: list[str] = []
        for name, schema in schemas.items():
            self.top(name, schema)

    def top(self, name: str, schema: Schema) -> None:
        if "properties" in schema:
            self.object(name, schema)
        else:
            self.names.append(name)
            self.aliases.append(f"{name} = {self.expression(name, schema)}\n")

    def object(self, name: str, schema: Schema) -> None:
        required = set(schema.get("required", []))
        members = {k: self.expression(name + camel(k), v) for k, v in schema["properties"].items()}
        must = {k: v for k, v in members.items() if k in required}
        may = {k: v for k, v in members.items() if k not in required}
        doc = schema.get("description", "")
        base = f"_{name}Required" if may else name
        self.names.append(name)
        body = "".join(f"    {k!r}: {v},\n" for k, v in must.items())
        if must or not may:
            self.out.append(f"{base} = TypedDict({base!r}, {{\n{body}}})\n")
        if may:
            assert not any(map(keyword.iskeyword, may)), (name, may)
            text = f"class {name}({base if must else 'TypedDict'}, total=False):\n"
            if doc:
                text += f"    {json.dumps(doc, ensure_ascii=False)}\n\n"
            self.out.append(text + "".join(f"    {k}: {v}\n" for k, v in may.items()))

    def followed(self, events: list[str]) -> None:
        """Writes events as a stream tells them: each with the place behind it."""
        self.out += [f"class Followed{name}({name}):\n    cursor: str\n" for name in events]
        self.aliases.append(f"FollowedEvent = {union([repr(f'Followed{name}') for name in events])}\n")
        self.names += ["FollowedEvent", *(f"Followed{name}" for name in events)]

    def expression(self, name: str, s: Schema) -> str:
        if "$ref" in s:
            return repr(s["$ref"].rsplit("/", 1)[1])
        if "const" in s:
            return f"Literal[{s['const']!r}]"
        if "enum" in s:
            return f"Literal[{', '.join(map(repr, s['enum']))}]"
        for choice in ("anyOf", "oneOf", "allOf"):
            if choice in s:
                return union([self.expression(name + (str(i) if i else ""), one) for i, one in enumerate(s[choice])])
        kinds = s.get("type", "any")
        if isinstance(kinds, list):
            return union([self.expression(name, {**s, "type": k}) for k in kinds])
        if kinds == "array":
            return f"List[{self.expression(name, s['items'])}]"
        if kinds == "object" and "properties" in s:
            self.object(name, s)
            return repr(name)
        if kinds == "object":
            more = s.get("additionalProperties")
            return f"Dict[str, {self.expression(name, more) if isinstance(more, dict) else 'Any'}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(kinds, "Any")


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[^a-z0-9]+", name))


def union(kinds: list[str]) -> str:
    kinds = list(dict.fromkeys(kinds))
    return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]"


def types(contract: Schema) -> str:
    made = Types(contract["components"]["schemas"])
    made.followed([one["$ref"].rsplit("/", 1)[1] for one in contract["components"]["schemas"]["Event"]["oneOf"]])
    head = '"""Types of the contract (/openapi.json); made by generate.py."""\n\nfrom typing import Any, Dict, List, Literal, TypedDict, Union\n\n'
    listed = f"__all__ = {sorted(made.names)!r}\n\n"
    return head + listed + "\n".join(made.out + made.aliases)


PLAIN = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(Inboxd|Inboxes|Inbox|Calendar|Suppressions|Transport|Iterator|Generator|Client)\b", r"\1"),
    (r"\bGenerator\[([^\[\]]+(?:\[[^\[\]]*\])?), None\]", r"Generator[\1, None, None]"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bimport asyncio\b", "import time"),
    (r"\baclose\b", "close"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\baread\b", "read"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\bawaited\b", "called"),
]


def without_await(text: str) -> str:
    for pattern, plain in PLAIN:
        text = re.sub(pattern, plain, text)
    return text


def main() -> None:
    made = {"contract.py": types(json.loads(CONTRACT.read_text("utf-8")))}
    for module in (PACKAGE / "_aio").glob("*.py"):
        made[f"_sync/{module.name}"] = without_await(module.read_text("utf-8"))
    made["_sync/__init__.py"] = '"""The client without await, made of _aio by generate.py."""\n'
    (PACKAGE / "_sync").mkdir(exist_ok=True)
    for name, text in made.items():
        target = PACKAGE / name
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
