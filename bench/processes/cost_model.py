#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a training step that several processes divide. As a program, prints the tables of docs/scaling.md.

A step consists of the forward and backward passes of a process's batches, the exchange of gradients, which begins during
the last backward pass, the update of the parameters that the process owns, and the exchange of the updated
parameters."""
import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from hardware import format_table  # noqa: E402

BACKWARD_SHARE = 2 / 3       # of the time of a forward and a backward pass
BUCKET_ELEMENTS = 1 << 20    # kBucketElements in train/flat_parameters.cc
WAITS = 4                    # exchanges that wait for an answer: reports, last gradients, norm, parameters
UPDATE_BYTES = 28            # read and written for a parameter: gradient, weight, two moments
PARAMETER_BYTES = 4


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    parameters: float

    def operations(self):
        """Returns the operations of a forward and a backward pass for an output token and an input token."""
        return 6 * self.parameters


@dataclasses.dataclass(frozen=True)
class Network:
    """Each process sends, and receives at the same time, so many bytes per second: to processes of other machines, and
    to the `local` processes of its own machine."""
    bytes_per_second: float
    latency: float  # seconds
    local: int = 1
    local_bytes_per_second: float = float("inf")
    sums_locally_first: bool = False  # processes of a machine first exchange among themselves; Edgewise does not

    def seconds(self, size, processes):
        """Returns the time in which each process exchanges an array of `size` bytes: it sends one part, of as many as
        there are processes, to each other process."""
        local = min(self.local, processes)
        far = (processes - local) / processes / (local if self.sums_locally_first else 1)
        near = (local - 1) / (local if self.sums_locally_first else processes)
        return max(far * size / self.bytes_per_second, near * size / self.local_bytes_per_second)


@dataclasses.dataclass(frozen=True)
class Device:
    name: str
    operations: float       # per second, in training
    memory_bytes: float     # per second
    network: Network


@dataclasses.dataclass(frozen=True)
class Exchange:
    gradients: float  # seconds after the backward pass
    parameters: float
    waits: float

    def seconds(self):
        return self.gradients + self.parameters + self.waits


def exchange(parameters, processes, network, backward, gradient_bytes=4):
    """Returns the Exchange of a step whose last backward pass takes `backward` seconds. Gradients that are complete are
    sent during this pass; at least the bucket that is complete last is sent afterwards."""
    if processes == 1:
        return Exchange(0.0, 0.0, 0.0)
    whole = network.seconds(gradient_bytes * parameters, processes)
    last = network.seconds(gradient_bytes * BUCKET_ELEMENTS, processes)
    return Exchange(max(last, whole - backward), network.seconds(PARAMETER_BYTES * parameters, processes),
                    2 * WAITS * network.latency)


@dataclasses.dataclass(frozen=True)
class Step:
    work: float  # seconds of forward and backward passes, and of the update
    exchange: Exchange

    def seconds(self):
        return self.work + self.exchange.seconds()

    def efficiency(self):
        """Returns the speed divided by the speed without exchanges."""
        return self.work / self.seconds()


def predict(model, device, processes, tokens, gradient_bytes=4):
    """Returns the Step of `tokens` output tokens in all processes, each of which has one batch."""
    passes = model.operations() * tokens / processes / device.operations
    update = UPDATE_BYTES * model.parameters / processes / device.memory_bytes
    return Step(passes + update,
                exchange(model.parameters, processes, device.network, BACKWARD_SHARE * passes, gradient_bytes))


BASE = Model("WMT14 base", 60.5e6)  # Vaswani et al. 2017, table 3: 65 million with the paper's vocabulary
BIG = Model("WMT14 big", 210e6)     # Ott et al. 2018, section 3: 210 million
GIGABIT = 1e9 / 8
# An H100 has 989 TFLOP/s in bf16, and NVLink 450 GB/s in each direction; 40 % is the share that this project aims at.
GPU_NETWORK = Network(400 * GIGABIT, 20e-6, local=8, local_bytes_per_second=450e9)
GPU = Device("GPU", 0.4 * 989e12, 3e12, GPU_NETWORK)
GPU_IN_STAGES = dataclasses.replace(GPU, network=dataclasses.replace(GPU_NETWORK, sums_locally_first=True))
# 16 cores with the speed for each core that two cores of an EPYC (Zen 5) had: 1 980 tokens/s (docs/wmt14.md).
MACHINE_OPERATIONS = 8 * 1980 * BASE.operations()


def machine(gigabits, latency):
    return Device(f"{gigabits} Gbit/s", MACHINE_OPERATIONS, 100e9, Network(gigabits * GIGABIT, latency))


def describe(model, columns, counts):
    """Returns a table of efficiencies and milliseconds of a step; columns: (title, device, tokens, gradient_bytes)."""
    rows = []
    for processes in counts:
        steps = [predict(model, device, processes, tokens, size) for _, device, tokens, size in columns]
        rows.append([processes] + [f"{100 * step.efficiency():.0f} %, {1e3 * step.seconds():,.0f} ms" for step in steps])
    return f"{model.name}\n\n{format_table(['processes', *(column[0] for column in columns)], rows)}\n"


def main():
    small, large = 25_000, 400_000
    print(describe(BIG, [(f"{small:,} tokens, fp32", GPU, small, 4), (f"{large:,} tokens, fp32", GPU, large, 4),
                         (f"{large:,} tokens, bf16", GPU, large, 2),
                         (f"{large:,} tokens, bf16, in stages", GPU_IN_STAGES, large, 2)],
                   (8, 16, 32, 64, 128, 256, 512)))
    slow, fast = machine(1, 200e-6), machine(10, 50e-6)
    for model in (BASE, BIG):
        print(describe(model, [(f"{tokens:,} tokens, {device.name}", device, tokens, 4)
                               for tokens in (small, large) for device in (slow, fast)], (2, 4, 8, 16, 32, 64)))


if __name__ == "__main__":
    main()
