#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates with CTranslate2: a Transformer with random weights, and outputs forced to have 16 tokens.

Prints one line of JSON, with the better result of two divisions of the threads: one translator with all threads, or one
translator per thread. Inputs are as long as a file's sentences would be in subwords; their tokens are random.
"""
import argparse
import itertools
import json
import math
import random
import statistics
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

from peak_memory import peak_memory

VOCABULARY = 10_000
OUTPUT_TOKENS = 16
MIN_SECONDS = 3
SIZES = {  # size, feed-forward, heads, encoder layers, decoder layers
    "tiny": (128, 256, 4, 4, 4),
    "base": (512, 2048, 8, 6, 6),
}


class RandomSpec:
    """Fills a CTranslate2 model specification with random weights."""

    def __init__(self, size, feed_forward, heads, encoder_layers, decoder_layers):
        self.size = size
        self.random = np.random.default_rng(0)
        self.spec = transformer_spec.TransformerSpec.from_config(
            (encoder_layers, decoder_layers), heads, pre_norm=False, activation=common_spec.Activation.RELU)
        words = self.weight(VOCABULARY, size)
        positions = np.zeros((512, size), np.float32)
        encoder, decoder = self.spec.encoder, self.spec.decoder
        encoder.embeddings[0].weight = decoder.embeddings.weight = decoder.projection.weight = words
        decoder.projection.bias = np.zeros(VOCABULARY, np.float32)
        encoder.position_encodings.encodings = decoder.position_encodings.encodings = positions
        for layer in [*encoder.layer, *decoder.layer]:
            self.fill_self_attention(layer.self_attention)
            if hasattr(layer, "attention"):
                self.fill_cross_attention(layer.attention)
            self.fill_linear(layer.ffn.linear_0, feed_forward, size)
            self.fill_linear(layer.ffn.linear_1, size, feed_forward)
            self.fill_norm(layer.ffn.layer_norm)

    def weight(self, *shape):
        return (self.random.standard_normal(shape) / math.sqrt(shape[-1])).astype(np.float32)

    def fill_norm(self, norm):
        norm.gamma, norm.beta = np.ones(self.size, np.float32), np.zeros(self.size, np.float32)

    def fill_linear(self, linear, outputs, inputs):
        linear.weight, linear.bias = self.weight(outputs, inputs), np.zeros(outputs, np.float32)

    def fill_self_attention(self, attention):
        self.fill_linear(attention.linear[0], 3 * self.size, self.size)
        self.fill_linear(attention.linear[1], self.size, self.size)
        self.fill_norm(attention.layer_norm)

    def fill_cross_attention(self, attention):
        self.fill_linear(attention.linear[0], self.size, self.size)
        self.fill_linear(attention.linear[1], 2 * self.size, self.size)
        self.fill_linear(attention.linear[2], self.size, self.size)
        self.fill_norm(attention.layer_norm)

    def save(self):
        words = ["<unk>", "<s>", "</s>"] + [f"t{i}" for i in range(VOCABULARY - 3)]
        self.spec.register_source_vocabulary(words)
        self.spec.register_target_vocabulary(words)
        self.spec.validate()
        self.spec.optimize(quantization=None)
        directory = tempfile.mkdtemp()
        self.spec.save(directory)
        return directory


def read_inputs(path, count):
    generator = random.Random(1)
    with open(path, encoding="utf-8") as lines:
        sizes = [len(line.split()) * 5 // 4 for line in lines][:count]
    return [[f"t{generator.randrange(VOCABULARY - 3)}" for _ in range(size)] + ["</s>"] for size in sizes]


def translate(translator, inputs, arguments):
    results = translator.translate_batch(
        inputs, beam_size=arguments.beam, max_batch_size=arguments.batch, min_decoding_length=OUTPUT_TOKENS,
        max_decoding_length=OUTPUT_TOKENS)
    return sum(len(result.hypotheses[0]) for result in results)


def seconds_of(translator, inputs, arguments):
    begin = time.perf_counter()
    tokens = translate(translator, inputs, arguments)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--precision", choices=["float32", "int8"], default="float32")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--input", required=True)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    directory = RandomSpec(*SIZES[arguments.size]).save()
    inputs = read_inputs(arguments.input, arguments.sentences)
    speeds, latencies = [], []
    for translators, threads in {(1, arguments.threads), (arguments.threads, 1)}:
        translator = ctranslate2.Translator(directory, device="cpu", compute_type=arguments.precision,
                                            inter_threads=translators, intra_threads=threads)
        if arguments.batch > 1:
            speeds.append(tokens_per_second(translator, inputs, arguments))
        else:
            latencies.append(median_latency(translator, inputs, arguments))
            speeds.append(OUTPUT_TOKENS / latencies[-1])
    result = {"version": f"CTranslate2 {ctranslate2.__version__}", "size": arguments.size,
              "precision": arguments.precision, "beam": arguments.beam, "batch": arguments.batch,
              "output_tokens_per_second": max(speeds), "peak_memory_bytes": peak_memory()}
    if latencies:
        result["median_latency_ms"] = 1e3 * min(latencies)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
