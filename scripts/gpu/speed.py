# SPDX-License-Identifier: Apache-2.0
"""Steps that measure: attention, training, decoding, and what the machine can do at most."""
import json
import pathlib
import sys

from gpu.run import Failed, Missing
from gpu.training import write_corpus

# A process for each, which checks the results on the CPU first.
ATTENTION_CASES = {"bf16": ("long", "long-causal", "window", "sentences", "causal", "random"),
                   "fp32": ("sentences", "random")}
PRECISIONS = ("bf16", "fp32")
TRAINING_SIZES = ("tiny", "base", "big")
FOLDER = pathlib.Path(__file__).parent


def bench(run, name, arguments, device, environment=None):
    """Returns the figures of `edgewise bench`. `device` are the arguments of device_option()."""
    command = [run.edgewise(), "bench", name, "--json", *arguments, *device]
    return json.loads(run.command(command, environment))


def measure_all(runs):
    """Returns {name: figures of call()} for pairs (name, call), however many fail; fails after all if any did."""
    results, errors = {}, []
    for name, call in runs:
        try:
            results[name] = call()
        except Failed as error:
            errors.append(f"{name}: {error}")
    if errors:
        raise Failed("\n".join(errors + [f"the others: {json.dumps(results)}"]))
    return results


def attention(run):
    device = run.device_option(["bench", "attention"])
    cases = dict.fromkeys(PRECISIONS, ("small",)) if run.is_emulated else ATTENTION_CASES
    repetitions = "1" if run.is_emulated else "10"
    return measure_all(
        (f"{case} {precision}",
         lambda case=case, precision=precision: bench(
             run, "attention", ["--case", case, "--precision", precision, "--repetitions", repetitions], device))
        for precision in PRECISIONS for case in cases[precision])


def measure_peer(run, script, packages, arguments=()):
    """Returns what a script prints, which needs these Python packages and a PyTorch that can use a GPU."""
    command = [sys.executable, str(FOLDER / script)]
    if run.is_emulated:
        run.stand_in(f"the list of {script} instead of {' and '.join(packages)}")
        return json.loads(run.command([*command, "--list"]))
    probe = f"import {', '.join(packages)}; print(torch.cuda.is_available())"
    try:
        has_gpu = run.command([sys.executable, "-c", probe]).strip() == "True"
    except Failed:
        has_gpu = False
    if not has_gpu:
        raise Missing(f"{sys.executable} has no {' and '.join(packages)} that can use a GPU")
    return json.loads(run.command([*command, *arguments]).splitlines()[-1])


def attention_peers(run):
    """Times attention of PyTorch, on the same relations, where PyTorch is installed."""
    return measure_peer(run, "attention_torch.py", ["torch"])


def decoding_peers(run):
    """Times beam search of transformers, with and without torch.compile, where transformers is installed."""
    write_corpus(run.folder)
    return measure_peer(run, "decoding_transformers.py", ["torch", "transformers"],
                        ["--input", str(run.folder / "words.in")])


def training(run):
    device = run.device_option(["bench", "train"])
    write_corpus(run.folder, num_pairs=4000)
    arguments = ["--input", str(run.folder / "words.in"), "--output", str(run.folder / "words.out")]
    environment = None
    if run.is_emulated:
        run.stand_in("small steps on the CPU's kernels instead of the emulator's, which would take minutes")
        environment = run.environment(EDGEWISE_OPERATIONS="")
        arguments += ["--tokens", "64", "--steps", "1", "--warmup", "3"]
    else:
        arguments += ["--tokens", "16384", "--steps", "20", "--warmup", "5"]
    return measure_all(
        (f"{size} {precision}",
         lambda size=size, precision=precision: bench(
             run, "train", ["--size", size, "--precision", precision, *arguments], device, environment))
        for size in TRAINING_SIZES for precision in PRECISIONS)


def decoding(run):
    device = run.device_option(["bench", "decode"])
    write_corpus(run.folder)
    arguments = ["--input", str(run.folder / "words.in"), "--batch", "256"]
    if run.is_emulated:
        arguments += ["--size", "tiny", "--sentences", "1", "--output-length", "2", "--min-seconds", "0"]
    else:
        arguments += ["--size", "base"]
    return measure_all(
        (f"{workers} workers {precision}",
         lambda workers=workers, precision=precision: bench(
             run, "decode", [*arguments, "--precision", precision, "--workers", str(workers)], device))
        for workers in (1, 4) for precision in PRECISIONS)


def limits(run):
    """Returns the bandwidth of copies and the peak of matrix products, which the attention benchmark measures."""
    device = run.device_option(["bench", "attention"])
    figures = bench(run, "attention", ["--case", "small", "--precision", "bf16", "--repetitions", "1"], device)
    return {name: figures[name] for name in ("gemm_peak_gflops", "memory_gb_per_second")}
