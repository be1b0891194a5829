"""Makes what is made of the contract before the package is built; a source archive has it already."""

import runpy
from pathlib import Path

from setuptools import setup

here = Path(__file__).resolve().parent
if (here / "../../http/contract/contract.json").exists():
    runpy.run_path(str(here / "generate.py"), run_name="__main__")
setup()
