# Reads mails, one base64 line each, with Python's own parser, and prints one JSON line each.
import base64, email, email.policy, hashlib, json, sys

def text(part):
    return part.get_content().replace("\r\n", "\n") if part is not None else ""

for line in sys.stdin:
    m = email.message_from_bytes(base64.b64decode(line), policy=email.policy.default)
    plain = html = None
    files = []
    defects = []
    for part in m.walk():
        defects += [type(d).__name__ for d in part.defects]
        # The name in ASCII behind the other one is a duplicate for Python, which ignores it.
        defects += [name + " " + type(d).__name__ for name, value in part.items() for d in value.defects
                    if "duplicate ignored" not in str(d)]
        if part.is_multipart():
            continue
        if part.get_content_disposition() == "attachment":
            content = part.get_payload(decode=True)
            files.append([part.get_filename(), part.get_content_type(), hashlib.sha256(content).hexdigest()])
        elif part.get_content_type() == "text/plain":
            plain = part
        elif part.get_content_type() == "text/html":
            html = part
        else:
            files.append([part.get_param("method"), part.get_content_type(), ""])
    people = {k: [[a.display_name, a.addr_spec] for a in m[k].addresses] if m[k] else [] for k in ("from", "to", "cc")}
    print(json.dumps({
        "subject": str(m["subject"]), "people": people, "date": m["date"].datetime.isoformat(),
        "id": str(m["message-id"] or ""), "references": str(m["references"] or "").split(),
        "text": text(plain), "html": text(html), "files": files, "defects": defects,
    }))
