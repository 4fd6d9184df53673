# SPDX-License-Identifier: Apache-2.0
import ctypes


def peak_memory():
    """Returns the peak memory of this process in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) * 1024


def memory_growth(run):
    """Returns by how many bytes `run` raises the memory of this process at most. Memory that the heap keeps free for
    later use is first returned to the system."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")  # the peak becomes the memory of now
    before = peak_memory()
    run()
    return peak_memory() - before
