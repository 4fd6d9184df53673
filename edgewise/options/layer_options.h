// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/config/fields.h"
#include "edgewise/options/layer_kinds.h"

namespace edgewise {

/// Dropout rates: shares of values that training sets to zero.
struct DropoutRates {
  double embedding = 0.1;
  double residual = 0.1;
  double attention = 0.0;
  double activation = 0.1;
  double word = 0.0;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    const Range share = at_least(0).at_most(0.999);
    field("embedding", self.embedding, "dropout rate of the sum of token embedding and position vector", share);
    field("residual", self.residual, "dropout rate of the output of each sublayer, before the residual sum", share);
    field("attention", self.attention, "dropout rate of attention weights", share);
    field("activation", self.activation, "dropout rate of the inner activations of feed-forward layers", share);
    field("word", self.word, "share of tokens, on both sides, whose whole embedding is dropped; position vectors stay",
          share);
  }
};

/// Options that all layers of a model share.
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
    field("size", self.size, "size of a state vector (model dimension); a multiple of heads",
          at_least(1).at_most(65536));
    field("heads", self.heads, "number of heads of each attention layer", at_least(1).at_most(65536));
    field("feed_forward", self.feed_forward, "inner size of feed-forward layers", at_least(1).at_most(262144));
    field("norm_placement", self.norm_placement,
          "place of the norms: pre (before each sublayer) or post (after the residual sum)");
    field("norm", self.norm,
          "formula of the norms: layer_norm divides by sqrt(variance + epsilon), std_norm by (standard deviation + "
          "epsilon)");
    field("norm_epsilon", self.norm_epsilon, "epsilon of the norms, which prevents division by zero",
          at_least(1e-12).at_most(1));
    field("attention_bias", self.attention_bias,
          "give bias vectors to the query, key, value and output projections of attention");
    field("score", self.score, "attention score of a query and a key: dot (scaled dot product) or additive");
    field("clamp", self.clamp,
          "largest absolute value of attention scores, as in the graph tutorial; by default no limit",
          at_least(0.001).at_most(1e6));
    field("activation", self.activation,
          "activation function between the two linear layers of feed-forward layers: relu, gelu (exact) or silu");
    field("dropout", self.dropout, "dropout rates, used only in training");
  }
};

}  // namespace edgewise
