// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/fields.h"
#include "edgewise/options/layer_kinds.h"

namespace edgewise {

/// Shares of values dropped while training.
struct DropoutRates {
  double embedding = 0.1;
  double residual = 0.1;
  double attention = 0.0;
  double activation = 0.1;
  double word = 0.0;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    const Range share = at_least(0).below(1);
    field("embedding", self.embedding, "of word embeddings with their positions added", share);
    field("residual", self.residual, "of what a sublayer adds to the state", share);
    field("attention", self.attention, "of attention weights", share);
    field("activation", self.activation, "within feed-forward layers", share);
    field("word", self.word, "of words of both sides: all of their embeddings but the positions", share);
  }
};

/// What the layers of one model have in common.
struct LayerOptions {
  std::int64_t size = 512;
  std::int64_t heads = 8;
  std::int64_t feed_forward = 2048;
  NormPlacement norm_placement = NormPlacement::kPre;
  NormKind norm = NormKind::kLayerNorm;
  double norm_epsilon = 1e-5;
  bool attention_bias = true;
  ScoreKind score = ScoreKind::kDot;
  std::optional<double> clamp;
  Activation activation = Activation::kRelu;
  DropoutRates dropout;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("size", self.size, "of a node's state; a multiple of heads", at_least(1));
    field("heads", self.heads, "of each attention", at_least(1));
    field("feed_forward", self.feed_forward, "inner size of feed-forward layers", at_least(1));
    field("norm_placement", self.norm_placement, "norm before each sublayer, or after its residual sum");
    field("norm", self.norm, "layer_norm divides by sqrt(variance + epsilon), std_norm by deviation + epsilon");
    field("norm_epsilon", self.norm_epsilon, "keeps a norm from dividing by zero", above(0));
    field("attention_bias", self.attention_bias, "whether queries, keys, values and outputs of attention have biases");
    field("score", self.score, "how well a key answers a query: dot product or additive");
    field("clamp", self.clamp, "bound of a score's size, for parity with the graph tutorial; none: exact", above(0));
    field("activation", self.activation, "between the two linear layers of feed-forward");
    field("dropout", self.dropout, "shares of values dropped while training");
  }
};

}  // namespace edgewise
