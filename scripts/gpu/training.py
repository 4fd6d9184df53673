# SPDX-License-Identifier: Apache-2.0
"""Steps that train and translate: the results of a GPU against those of the CPU, and the same bits in two runs."""
import json
import pathlib
import random
import shutil

from gpu import checks
from gpu.run import Failed

CONFIG = pathlib.Path(__file__).parent / "curve.toml"
# Both runs draw the same dropout. Sums in another order change a loss by some 1e-6 in the first step, and the steps
# that follow magnify the difference.
FIRST_TOLERANCE = 1e-4
TOLERANCE = 0.02
# Sums in another order decide between words that are about equally probable, of which a model of 50 steps has many.
EQUAL_LINES = {"fp32": 0.95, "bf16": 0.5}
EMULATED_SETTINGS = ["batch.tokens=60", "model.size=32", "model.heads=1", "model.feed_forward=32",
                     "model.encoder_layers=1", "model.decoder_layers=1"]


def write_corpus(folder, num_pairs=400):
    """Writes pairs of sentences of random words, of which one is the other in reverse."""
    stream = random.Random(1)
    pairs = [[f"w{stream.randrange(200)}" for _ in range(stream.randint(4, 16))] for _ in range(num_pairs)]
    (folder / "words.in").write_text("".join(" ".join(words) + "\n" for words in pairs), encoding="utf-8")
    (folder / "words.out").write_text("".join(" ".join(words[::-1]) + "\n" for words in pairs), encoding="utf-8")


def read_losses(metrics):
    lines = [json.loads(line) for line in metrics.splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def train(run, name, is_on_cpu=False):
    """Trains the config, and returns the run's folder."""
    write_corpus(run.folder)
    shutil.copy(CONFIG, run.folder)
    out = run.folder / name
    shutil.rmtree(out, ignore_errors=True)
    command = [run.edgewise(), "train", str(run.folder / CONFIG.name), "--out", str(out)]
    if run.is_emulated:
        command += [word for setting in EMULATED_SETTINGS for word in ("--set", setting)]
    environment = run.environment()
    if is_on_cpu:
        environment.pop("EDGEWISE_OPERATIONS", None)
    else:
        command += run.device_option(["train"])
    run.command(command, environment)
    return out


def losses_of(out):
    return read_losses((out / "metrics.jsonl").read_text(encoding="utf-8"))


def largest_difference(actual, expected):
    """Returns the largest relative difference; infinity if the curves have other lengths or a loss is no number."""
    differences = [abs(a - b) / abs(b) for a, b in zip(actual, expected)]
    if len(actual) != len(expected) or not differences or any(d != d for d in differences):
        return float("inf")
    return max(differences)


def curve(run):
    """Trains fifty steps on the CPU and on the GPU, and compares the losses."""
    expected = losses_of(train(run, "cpu", is_on_cpu=True))
    actual = losses_of(train(run, "device"))
    first, largest = largest_difference(actual[:1], expected[:1]), largest_difference(actual, expected)
    if first > FIRST_TOLERANCE or largest > TOLERANCE:
        raise Failed(f"losses differ by up to {largest:.2g} of the CPU's, in the first step by {first:.2g}; allowed are "
                     f"{TOLERANCE} and {FIRST_TOLERANCE}")
    return {"steps": len(actual), "first_difference": first, "largest_difference": largest, "cpu": expected,
            "device": actual}


def repeat(run):
    """Trains twice, and compares the bits of losses and parameters."""
    runs = [train(run, name) for name in ("first", "second")]
    if losses_of(runs[0]) != losses_of(runs[1]):
        raise Failed("the losses of two runs differ")
    models = [(out / "last/model.safetensors").read_bytes() for out in runs]
    if models[0] != models[1]:
        raise Failed("the parameters of two runs differ, their losses do not")
    return {"steps": len(losses_of(runs[0])), "bytes": len(models[0])}


def translate(run, model, device, workers, precision):
    """Returns the lines that a model makes of the corpus."""
    output = run.folder / "translation"
    run.command([run.edgewise(), "translate", "--model", str(model), "--out", str(output), "--beam", "4",
                 "--workers", str(workers), "--precision", precision, *device, str(run.folder / "words.in")])
    return output.read_text(encoding="utf-8").splitlines()


def share_of_equal(lines, others):
    return sum(line == other for line, other in zip(lines, others, strict=True)) / len(lines)


def translation(run):
    """Runs the tests of translation, and compares a model's outputs on the GPU, with 1 and 4 workers, with the CPU's."""
    report = checks.run_tests(run, run.program("tests/runtime/gpu/test_gpu_runtime"), run.environment())
    result = checks.count_tests(report)
    model = train(run, "translated", is_on_cpu=True)
    device = run.device_option(["translate"])
    if not device:
        run.stand_in("translate on the CPU instead of a GPU; the tests run in the emulator")
    for precision in ("fp32", "bf16"):
        expected = translate(run, model, ["--device", "cpu"], 1, precision)
        alone, together = (translate(run, model, device, workers, precision) for workers in (1, 4))
        if alone != together:
            raise Failed(f"1 and 4 workers have other outputs for {1 - share_of_equal(alone, together):.1%} of the lines "
                         f"in {precision}")
        equal = share_of_equal(alone, expected)
        if equal < EQUAL_LINES[precision]:
            raise Failed(f"{equal:.1%} of the lines in {precision} are the CPU's, needs {EQUAL_LINES[precision]:.0%}")
        result[f"equal_lines_{precision}"] = equal
    return result
