"""What the package brings, and what it says where a framework is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pytscope_hf", reason="pytscope-hf is not installed")

LOADED = "import sys, pytscope_hf; print(sorted({'torch', 'transformers'} & sys.modules.keys()))"
MISSING = """
import sys
sys.modules[sys.argv[1]] = None
from pytscope.model.errors import MissingPackage
try:
    from pytscope.integrations.huggingface import PytscopeCallback
except MissingPackage as error:
    print(error)
"""


def said(code: str, *words: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_importing_the_package_loads_no_framework() -> None:
    assert said(LOADED) == "[]"


def test_a_missing_framework_is_a_sentence() -> None:
    assert said(MISSING, "transformers") == (
        "PytscopeCallback is part of pytscope-hf; transformers, which pytscope-hf needs, is not "
        "installed: pip install 'pytscope-core[huggingface]'"
    )


def test_a_name_that_is_none_of_it_is_refused() -> None:
    import pytscope_hf

    with pytest.raises(AttributeError, match="no attribute 'PytscopeCallbak'"):
        _ = pytscope_hf.PytscopeCallbak
