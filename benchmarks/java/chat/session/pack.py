"""Pack this folder into one file, build/session.pyz, with reproducible bytes.

python3 pack.py
"""

from __future__ import annotations

import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: the earliest date of the format
EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    target = HERE / "build" / "session.pyz"
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for source in sorted(HERE.glob("*.py")):
            if source.name != Path(__file__).name:
                archive.writestr(zipfile.ZipInfo(source.name, EPOCH), source.read_bytes())


if __name__ == "__main__":
    main()
