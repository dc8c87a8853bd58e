"""Memory that a training has freed stays with it.

The C library of Linux fetches large blocks from the system and gives them back when they are freed, and the system
hands them out again page by page, each set to zero. A training asks for the same large blocks at every step.
"""

import ctypes

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3)


def keep_freed_memory() -> None:
    """From now on, where the C library is glibc; elsewhere nothing happens."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)
