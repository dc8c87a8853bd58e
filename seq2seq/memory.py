"""Memory that the libraries below PyTorch take: what a training has freed, and kernels made for one size of matrix."""

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3)
KERNELS = "128"  # what a step of any model here uses, twice and more
_CAPACITIES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # of oneDNN, and of what PyTorch adds to it


def keep_freed_memory() -> None:
    """Freed memory stays with the process for good, where the C library is glibc; elsewhere nothing happens.

    The C library fetches large blocks from the system and gives them back when they are freed, and the system hands
    them out again page by page, each set to zero. A training asks for the same large blocks at every step, and so does
    a search.
    """
    if os.name != "posix":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def keep_few_kernels() -> None:
    """Before the first product on a CPU: the last ``KERNELS`` kernels are kept, unless the environment says how many.

    oneDNN makes one for each size of a product and keeps the last 1,024, half a megabyte each with what it works in;
    sentences come in hundreds of sizes. Making one again takes less time than a small product.
    """
    for name in _CAPACITIES:
        os.environ.setdefault(name, KERNELS)
