"""Names in the measurements of traced invocations, without the libraries that compute them."""

from __future__ import annotations

#: causes for which a thread sleeps, by the kind of the object that ended it
CAUSES = ("lock", "disk", "network", "timer", "interrupt", "process", "unknown")
#: name of the object that stands for all spin locks of the kernel
KERNEL_LOCKS = "kernel locks"
