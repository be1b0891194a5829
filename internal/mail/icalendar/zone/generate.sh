#!/bin/sh
# Writes names.txt from Go's zoneinfo.zip and windows.txt from CLDR's windowsZones.json
# (npm's cldr-core, Unicode licence), territory 001.
set -eu
cd "$(dirname "$0")"
python3 - "$(go env GOROOT)/lib/time/zoneinfo.zip" >names.txt <<'P'
import sys, zipfile
names = [n for n in zipfile.ZipFile(sys.argv[1]).namelist() if not n.endswith("/") and n != "Factory"]
print("\n".join(sorted(names)))
P
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && npm pack --silent cldr-core@48.2.0 >/dev/null && tar xzf cldr-core-48.2.0.tgz)
python3 - "$dir/package/supplemental/windowsZones.json" >windows.txt <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["supplemental"]["windowsZones"]["mapTimezones"]
rows = [r["mapZone"] for r in rows if r["mapZone"]["_territory"] == "001"]
print("\n".join(sorted(r["_other"] + "\t" + r["_type"] for r in rows)))
P
