#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates with CTranslate2, with outputs forced to have 16 tokens.

Prints one line of JSON, with the better result of two divisions of the threads: one translator with all threads, or one
translator per thread. The model is one of random weights, and its inputs, of random tokens, are as long as a file's
sentences would be in subwords. Or the model is that of --model, and its inputs are the tokens in the file's lines.
"""
import argparse
import itertools
import json
import math
import pathlib
import random
import statistics
import tempfile
import time

import ctranslate2
import numpy as np

from peak_memory import peak_memory
from random_spec import RandomSpec

VOCABULARY = 10_000
OUTPUT_TOKENS = 16
MIN_SECONDS = 3
SIZES = {  # size, feed-forward, heads, encoder layers, decoder layers
    "tiny": (128, 256, 4, 4, 4),
    "base": (512, 2048, 8, 6, 6),
}


def make_model(size):
    """Returns the directory of a random model."""
    spec = RandomSpec(*SIZES[size], vocabulary=VOCABULARY, activation="RELU")
    spec.fill(np.zeros((512, spec.size), np.float32))
    return spec.save(tempfile.mkdtemp(), ["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(VOCABULARY - 3)])


def read_inputs(arguments):
    with open(arguments.input, encoding="utf-8") as file:
        lines = list(itertools.islice(file, arguments.sentences))
    if arguments.model:
        return [line.split() + ["</s>"] for line in lines]
    generator = random.Random(1)
    sizes = [len(line.split()) * 5 // 4 for line in lines]
    return [[f"t{generator.randrange(VOCABULARY - 3)}" for _ in range(size)] + ["</s>"] for size in sizes]


def translate(translator, inputs, arguments, **options):
    """Returns the tokens of the best output of each input."""
    results = translator.translate_batch(
        inputs, beam_size=arguments.beam, max_batch_size=arguments.batch, min_decoding_length=OUTPUT_TOKENS,
        max_decoding_length=OUTPUT_TOKENS, **options)
    return [result.hypotheses[0] for result in results]


def seconds_of(translator, inputs, arguments):
    begin = time.perf_counter()
    tokens = sum(map(len, translate(translator, inputs, arguments)))
    return tokens, time.perf_counter() - begin


def tokens_per_second(translator, inputs, arguments):
    """Times one call that takes at least about MIN_SECONDS. The call before it warms every replica up."""
    _, seconds = seconds_of(translator, inputs, arguments)
    passes = math.ceil(MIN_SECONDS / seconds)
    tokens, seconds = seconds_of(translator, inputs * passes, arguments)
    return tokens / seconds


def median_latency(translator, inputs, arguments):
    """Times single sentences for at least MIN_SECONDS, after one pass over all of them."""
    seconds = []
    for sentence in inputs:
        translate(translator, [sentence], arguments)
    for sentence in itertools.cycle(inputs):
        seconds.append(seconds_of(translator, [sentence], arguments)[1])
        if sum(seconds) >= MIN_SECONDS:
            return statistics.median(seconds)


def write_outputs(directory, inputs, arguments):
    """Writes outputs without repetitions: a random model would repeat the first token."""
    translator = ctranslate2.Translator(directory, device="cpu", compute_type=arguments.precision,
                                        intra_threads=arguments.threads)
    outputs = translate(translator, inputs, arguments, no_repeat_ngram_size=1)
    arguments.outputs.write_text("".join(" ".join(output) + "\n" for output in outputs), encoding="utf-8")


def measure(directory, inputs, arguments):
    speeds, latencies = [], []
    for translators, threads in {(1, arguments.threads), (arguments.threads, 1)}:
        translator = ctranslate2.Translator(directory, device="cpu", compute_type=arguments.precision,
                                            inter_threads=translators, intra_threads=threads)
        if arguments.batch > 1:
            speeds.append(tokens_per_second(translator, inputs, arguments))
        else:
            latencies.append(median_latency(translator, inputs, arguments))
            speeds.append(OUTPUT_TOKENS / latencies[-1])
    result = {"version": f"CTranslate2 {ctranslate2.__version__}", "model": arguments.model or arguments.size,
              "precision": arguments.precision, "beam": arguments.beam, "batch": arguments.batch,
              "output_tokens_per_second": max(speeds), "peak_memory_bytes": peak_memory()}
    if latencies:
        result["median_latency_ms"] = 1e3 * min(latencies)
    print(json.dumps(result))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    model = parser.add_mutually_exclusive_group()
    model.add_argument("--size", choices=SIZES, default="tiny")
    model.add_argument("--model", help="the directory of a model; the lines of --input then have its tokens")
    parser.add_argument("--precision", choices=["float32", "int8"], default="float32")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--input", required=True)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--outputs", type=pathlib.Path,
                        help="a file to write instead of a measurement: the tokens of outputs without repetitions")
    arguments = parser.parse_args()

    directory = arguments.model or make_model(arguments.size)
    inputs = read_inputs(arguments)
    if arguments.outputs:
        write_outputs(directory, inputs, arguments)
    else:
        measure(directory, inputs, arguments)


if __name__ == "__main__":
    main()
