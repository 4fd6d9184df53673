# SPDX-License-Identifier: Apache-2.0
"""Makes models of CTranslate2 with random weights."""
import math

import numpy as np
from ctranslate2.specs import common_spec, transformer_spec


class RandomSpec:
    """A CTranslate2 model specification with random weights and norms after each sublayer. One table of embeddings is
    that of inputs, of outputs and of the output projection."""

    def __init__(self, size, feed_forward, heads, encoder_layers, decoder_layers, *, vocabulary, activation):
        self.size, self.feed_forward, self.vocabulary = size, feed_forward, vocabulary
        self.random = np.random.default_rng(0)
        self.spec = transformer_spec.TransformerSpec.from_config(
            (encoder_layers, decoder_layers), heads, pre_norm=False,
            activation=getattr(common_spec.Activation, activation))

    def fill(self, positions):
        """Gives all variables values; `positions` are the vectors of positions."""
        words = self.weight(self.vocabulary, self.size)
        encoder, decoder = self.spec.encoder, self.spec.decoder
        encoder.embeddings[0].weight = decoder.embeddings.weight = decoder.projection.weight = words
        decoder.projection.bias = np.zeros(self.vocabulary, np.float32)
        encoder.position_encodings.encodings = decoder.position_encodings.encodings = positions
        for layer in [*encoder.layer, *decoder.layer]:
            self.fill_self_attention(layer.self_attention)
            if hasattr(layer, "attention"):
                self.fill_cross_attention(layer.attention)
            self.fill_linear(layer.ffn.linear_0, self.feed_forward, self.size)
            self.fill_linear(layer.ffn.linear_1, self.size, self.feed_forward)
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

    def save(self, directory, words):
        self.spec.register_source_vocabulary(words)
        self.spec.register_target_vocabulary(words)
        self.spec.validate()
        self.spec.optimize(quantization=None)
        self.spec.save(directory)
        return directory
