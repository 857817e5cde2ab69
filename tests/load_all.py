"""Import every module of an installed package; no ML package may come along with core.

python tests/load_all.py pytscope
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

ML = {"torch", "lightning", "transformers", "tensorflow", "jax", "scipy", "sklearn"}


def main(package: str) -> None:
    root = importlib.import_module(package)
    prefix = f"{package}."
    folders = getattr(root, "__path__", [])  # a single module has none
    names = [m.name for m in pkgutil.walk_packages(folders, prefix)]
    for name in names:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    loaded = sorted(ML & set(sys.modules)) if package == "pytscope" else []
    if loaded:
        sys.exit(f"importing all of {package} imports {', '.join(loaded)}")
    sys.stdout.write(f"{package}: {len(names) + 1} modules load\n")


if __name__ == "__main__":
    main(sys.argv[1])
