#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model of random weights for llama.cpp: the shape of `edgewise bench generate --size llama-125m`, with weights
in Q8_0. The model has no vocabulary but its size, so it continues token numbers, not texts.

    make_llama_gguf.py OUT.gguf
"""
import argparse
import pathlib

import gguf
import numpy as np

SIZE, FEED_FORWARD, HEADS, LAYERS, VOCABULARY = 768, 2048, 12, 12, 50_000
POSITIONS = 2_000_000  # positions are rotations, so that the model has no tables of this size
NORM_EPSILON, ROTARY_BASE = 1e-5, 10_000.0
BLOCK = 32  # weights of Q8_0 that share a scale in fp16


class ModelWriter:
    def __init__(self, path):
        self.random = np.random.default_rng(0)
        self.writer = gguf.GGUFWriter(path, "llama")

    def add_settings(self):
        writer = self.writer
        writer.add_context_length(POSITIONS)
        writer.add_embedding_length(SIZE)
        writer.add_block_count(LAYERS)
        writer.add_feed_forward_length(FEED_FORWARD)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv(HEADS)
        writer.add_layer_norm_rms_eps(NORM_EPSILON)
        writer.add_rope_dimension_count(SIZE // HEADS)
        writer.add_rope_freq_base(ROTARY_BASE)
        writer.add_vocab_size(VOCABULARY)
        writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
        writer.add_tokenizer_model("no_vocab")

    def add_norm(self, name):
        self.writer.add_tensor(f"{name}.weight", np.ones(SIZE, np.float32))

    def add_matrix(self, name, rows, columns):
        """Adds weights with a standard deviation of 1 / sqrt(columns)."""
        blocks = np.empty((rows, columns // BLOCK, 2 + BLOCK), np.uint8)  # bytes of Q8_0: the scale, then the weights
        weights = self.random.integers(-127, 128, (rows, columns // BLOCK, BLOCK), np.int8)
        blocks[:, :, 2:] = weights.view(np.uint8)
        blocks[:, :, :2] = np.array([np.sqrt(3 / columns) / 127], np.float16).view(np.uint8)
        self.writer.add_tensor(f"{name}.weight", blocks.reshape(rows, -1),
                               raw_dtype=gguf.GGMLQuantizationType.Q8_0)

    def add_layer(self, layer):
        name = f"blk.{layer}."
        self.add_norm(name + "attn_norm")
        for projection in ("attn_q", "attn_k", "attn_v", "attn_output"):
            self.add_matrix(name + projection, SIZE, SIZE)
        self.add_norm(name + "ffn_norm")
        self.add_matrix(name + "ffn_gate", FEED_FORWARD, SIZE)
        self.add_matrix(name + "ffn_up", FEED_FORWARD, SIZE)
        self.add_matrix(name + "ffn_down", SIZE, FEED_FORWARD)

    def write(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def write_model(path):
    """Writes the model. Without a tensor of an output projection, its weights are those of the embedding."""
    model = ModelWriter(path)
    model.add_settings()
    model.add_matrix("token_embd", VOCABULARY, SIZE)
    for layer in range(LAYERS):
        model.add_layer(layer)
    model.add_norm("output_norm")
    model.write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    write_model(parser.parse_args().out)


if __name__ == "__main__":
    main()
