"""Parts of an application's time that another model predicts as a whole: collections, waits for the disk.

Such a part is a primitive of its own, with the count 1 and a cost per unit of work that differs from system to system. So it has a row,
a share and an error like all others, and can be changed by `--what-if`. It is elapsed time, in which the application does not work:
neither kernel time nor time in user mode.
"""

from __future__ import annotations

from dataclasses import replace

from regatta.models.predict.times import of_one_thread, pause_time, user_time
from regatta.models.vectors.sums import NS, positive
from regatta.models.vectors.values import (
    WHOLE,
    ApplicationVector,
    ConstantCost,
    Count,
    PrimitiveCost,
    SystemVector,
    Value,
)

#: names of the parts
COLLECTIONS, DISK_WAITS = "collections", "waits for the disk"


def with_part(application: ApplicationVector, name: str, rule: str) -> ApplicationVector:
    """Return the application with a part that is predicted as a whole, once per unit of work.

    Its own code stays as it was traced. The threads of an application all wait for a part, so counts are first those of one thread.

    Args:
        application: as traced.
        name: of the part.
        rule: by which model it is predicted.
    """
    one = of_one_thread(application)
    counts = (*one.counts, Count(name, Value.exact(1.0), rule=rule))
    return replace(one, counts=counts, traced_counts=one.traced_counts or one.counts)


def without_parts(application: ApplicationVector) -> ApplicationVector:
    """Return the application without such parts."""
    kept = tuple(count for count in application.counts if count.primitive not in (COLLECTIONS, DISK_WAITS))
    return replace(application, counts=kept)


def without_pauses(application: ApplicationVector) -> ApplicationVector:
    """Return the application without the pauses of the collector with which it was traced."""
    if application.user_time is None:
        return application
    left = positive(user_time(application).minus(pause_time(application)).interval())
    time = replace(left.times(1.0 / NS[application.time_unit]), n=application.user_time.n)
    return replace(application, user_time=time, pause_time=None)


def with_cost(system: SystemVector, name: str, time: Value, words: str) -> SystemVector:
    """Return the system with the time of a part on it.

    Args:
        system: any system.
        name: of the part.
        time: per unit of the application's work, in ns, at the level of the system.
        words: what the time is made of, for the provenance.
    """
    cost = ConstantCost(time.times(1.0 / NS[system.time_unit]))
    primitives = {**system.primitives, name: PrimitiveCost(WHOLE, cost, Value.exact(1.0))}
    return replace(system, primitives=primitives, provenance={**system.provenance, name: words})
