# SPDX-License-Identifier: Apache-2.0
"""Machines that are network namespaces of this machine, on one switch, each with a link of limited speed and delay.

Needs root, and the commands ip and tc of Debian's iproute2."""
import dataclasses
import subprocess

SWITCH = "ew-switch"


@dataclasses.dataclass(frozen=True)
class Link:
    """A link between a machine and the switch; the delay is that of a packet from one machine to another."""
    megabits_per_second: float
    delay_ms: float

    def rate(self):
        return ["rate", f"{self.megabits_per_second * 1000:.0f}kbit"]


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Network:
    """A context in which machine i has the address address(i)."""

    def __init__(self, machines, link):
        self.machines, self.link = machines, link

    @staticmethod
    def name(machine):
        return f"ew-{machine}"

    @staticmethod
    def address(machine):
        return f"10.213.7.{machine + 1}"

    def command(self, machine, words):
        """Returns a command as it is run on a machine."""
        return ["ip", "netns", "exec", self.name(machine), *words]

    def __enter__(self):
        run("ip", "link", "add", SWITCH, "type", "bridge")
        try:
            run("ip", "link", "set", SWITCH, "up")
            for machine in range(self.machines):
                self.add(machine)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, machine):
        name, port = self.name(machine), f"ew-port-{machine}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", port, "master", SWITCH, "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "address", "add", f"{self.address(machine)}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        # Packets wait in the sender's namespace, and in the receiver's port, so that both directions are limited.
        self.limit(port)
        self.limit("eth0", "-n", name)
        if self.link.delay_ms > 0:
            run("tc", "-n", name, "qdisc", "add", "dev", "eth0", "parent", "1:1", "netem", "limit", "20000", "delay",
                f"{self.link.delay_ms}ms")

    def limit(self, device, *namespace):
        run("tc", *namespace, "qdisc", "add", "dev", device, "root", "handle", "1:", "tbf", *self.link.rate(), "burst",
            "256kb", "latency", "400ms")

    def __exit__(self, *_):
        for machine in range(self.machines):
            subprocess.run(["ip", "netns", "delete", self.name(machine)], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "delete", SWITCH], check=False, stderr=subprocess.DEVNULL)
