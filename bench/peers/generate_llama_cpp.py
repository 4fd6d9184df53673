#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Continues random prompts with llama.cpp by its batch interface: a prompt of each text, then one token of each text in
each step, always the likeliest. The model is that of make_llama_gguf.py: the shape of `edgewise bench generate --size
llama-125m`, in Q8_0.

Prints one line of JSON, with medians of all repetitions. The context and its logits are not larger than the texts
need, because llama.cpp allocates memory for all of them.
"""
import argparse
import ctypes
import json
import pathlib
import random
import statistics
import tempfile
import time

import llama_cpp
import numpy as np

from make_llama_gguf import VOCABULARY, write_model
from peak_memory import peak_memory

WARMUP_TOKENS = 8


@llama_cpp.llama_log_callback
def ignore_log(_level, _text, _data):
    pass


class TextBatch:
    """Texts of one length that llama.cpp continues together."""

    def __init__(self, context, batch, texts):
        self.context, self.batch, self.texts, self.length = context, batch, texts, 0

    def add(self, tokens_of_texts):
        """Adds tokens, as many to each text, and returns the likeliest next token of each text."""
        count = len(tokens_of_texts[0])
        for text, tokens in enumerate(tokens_of_texts):
            for i, token in enumerate(tokens):
                self.put(text * count + i, text, token, self.length + i, i + 1 == count)
        self.batch.n_tokens = count * self.texts
        if llama_cpp.llama_decode(self.context, self.batch) != 0:
            raise SystemExit(f"llama_decode fails for {self.batch.n_tokens} tokens after {self.length} of each text")
        self.length += count
        return [self.likeliest(text * count + count - 1) for text in range(self.texts)]

    def put(self, row, text, token, position, has_logits):
        batch = self.batch
        batch.token[row], batch.pos[row], batch.logits[row] = token, position, has_logits
        batch.n_seq_id[row], batch.seq_id[row][0] = 1, text

    def likeliest(self, row):
        logits = llama_cpp.llama_get_logits_ith(self.context, row)
        return int(np.ctypeslib.as_array(logits, (VOCABULARY,)).argmax())


def make_context(model, arguments):
    tokens = (arguments.prompt + max(arguments.tokens, WARMUP_TOKENS)) * arguments.sequences
    parameters = llama_cpp.llama_context_default_params()
    parameters.n_ctx = tokens
    parameters.n_batch = arguments.prompt * arguments.sequences
    parameters.n_seq_max = parameters.n_outputs_max = arguments.sequences
    parameters.n_threads = parameters.n_threads_batch = arguments.threads
    context = llama_cpp.llama_init_from_model(model, parameters)
    if not context:
        raise SystemExit(f"llama_init_from_model makes no context for {tokens} tokens")
    return context


def load_model(path):
    parameters = llama_cpp.llama_model_default_params()
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    if not model:
        raise SystemExit(f"llama_model_load_from_file cannot read {path}")
    return model


def time_texts(context, batch, prompts, tokens):
    """Returns the seconds until the first token of each text, then those of each further token."""
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
    texts, seconds = TextBatch(context, batch, len(prompts)), []
    added = prompts
    for _ in range(tokens + 1):
        begin = time.perf_counter()
        added = [[token] for token in texts.add(added)]
        seconds.append(time.perf_counter() - begin)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    llama_cpp.llama_log_set(ignore_log, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf"
        write_model(path)
        model = load_model(path)
        context = make_context(model, arguments)
        batch = llama_cpp.llama_batch_init(arguments.prompt * arguments.sequences, 0, 1)
        draw = random.Random(1)
        prompts = [[draw.randrange(VOCABULARY) for _ in range(arguments.prompt)] for _ in range(arguments.sequences)]
        time_texts(context, batch, prompts, WARMUP_TOKENS)
        runs = [time_texts(context, batch, prompts, arguments.tokens) for _ in range(arguments.repetitions)]
        llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(model)

    prompt = statistics.median(seconds[0] for seconds in runs)
    continuation = statistics.median(sum(seconds[1:]) for seconds in runs)
    print(json.dumps({
        "version": f"llama-cpp-python {llama_cpp.__version__}",
        "sequences": arguments.sequences,
        "prompt_tokens_per_second": arguments.sequences * arguments.prompt / prompt,
        "output_tokens_per_second": arguments.sequences * arguments.tokens / continuation,
        "median_ms": 1e3 * statistics.median(step for seconds in runs for step in seconds[1:]),
        "peak_memory_bytes": peak_memory(),
    }))


if __name__ == "__main__":
    main()
