"""stub"""

from typing import Any


def flow_yaml(value: Any) -> str:
    return str(value)
