# SPDX-License-Identifier: Apache-2.0


def peak_memory():
    """Bytes that this process has had in memory at most."""
    with open("/proc/self/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["VmHWM"].split()[0]) * 1024
