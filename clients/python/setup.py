"""Runs generate.py before the package is built. A source archive already has the generated files."""

import runpy
from pathlib import Path

from setuptools import setup

here = Path(__file__).resolve().parent
if (here / "../../http/contract/contract.json").exists():
    runpy.run_path(str(here / "generate.py"), run_name="__main__")
setup()
