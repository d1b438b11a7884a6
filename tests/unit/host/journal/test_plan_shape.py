"""A `plan.json` whose values have other types than readers expect is refused, with the key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regatta.host.errors import StoreError
from regatta.host.journal.plan_files import plan_problem, read_plan

STORED = Path(__file__).parents[3] / "reference" / "stored" / "plan" / "local"
GROUP = {"key": "k", "cells": [0]}
Change = Callable[[dict[str, Any]], Any]
DAMAGE: dict[str, Change] = {
    "cells": lambda plan: plan.pop("cells"),
    "rounds": lambda plan: plan.update(rounds=10**7),
    "discarded_rounds": lambda plan: plan.update(discarded_rounds="1"),
    "plan_id": lambda plan: plan.update(plan_id=[]),
    "limits": lambda plan: plan.update(limits=1.5),
    "segments": lambda plan: plan.update(segments=[[0, 24], 24]),
    "segments ": lambda plan: plan.update(segments=[[3, 2]]),
    "stopping": lambda plan: plan.update(stopping=-1),
    "stopping: ": lambda plan: plan.update(stopping={"groups": [{**GROUP, "cells": [99]}]}),
    "stopping: pilot": lambda plan: plan.update(stopping={"groups": [GROUP], "pilot": True}),
    "cells[1]": lambda plan: plan["cells"].__setitem__(1, None),
    "cells[0]: cell_id": lambda plan: plan["cells"][0].pop("cell_id"),
    "cells[0]: argv": lambda plan: plan["cells"][0].update(argv=["x", 1]),
    "cells[0]: timeout_s": lambda plan: plan["cells"][0].update(timeout_s=float("inf")),
    "cells[0]: adapter": lambda plan: plan["cells"][0].update(adapter="x"),
}


@pytest.mark.parametrize("key", DAMAGE)
def test_a_value_of_another_type_is_refused(key: str, tmp_path: Path) -> None:
    shutil.copytree(STORED, tmp_path / "plan")
    path = tmp_path / "plan" / "plan.json"
    header = json.loads(path.read_text())
    DAMAGE[key](header)
    path.write_text(json.dumps(header))
    with pytest.raises(StoreError) as caught:
        read_plan(path.parent)
    (problem,) = caught.value.problems
    assert problem.where == str(path)
    assert key.strip(" :") in problem.got


def test_a_plan_is_accepted_whatever_keys_it_has_that_are_not_known() -> None:
    header = json.loads((STORED / "plan.json").read_text())
    assert (
        plan_problem({**header, "new": [], "stopping": {"groups": [{**GROUP, "new": 1}], "pilot": 2}}) == ""
    )
