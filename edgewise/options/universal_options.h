// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"

namespace edgewise {

/// The sides with adaptive computation. A node of another side takes as many steps as encoder_layers or
/// decoder_layers says.
enum class AdaptiveSides { kNone, kEncoderOnly, kDecoderOnly, kBoth };

inline constexpr auto enum_names(AdaptiveSides) {
  return std::array{EnumName{AdaptiveSides::kNone, "none"}, EnumName{AdaptiveSides::kEncoderOnly, "encoder"},
                    EnumName{AdaptiveSides::kDecoderOnly, "decoder"}, EnumName{AdaptiveSides::kBoth, "both"}};
}

constexpr bool encoder_adapts(AdaptiveSides side) {
  return side == AdaptiveSides::kEncoderOnly || side == AdaptiveSides::kBoth;
}
constexpr bool decoder_adapts(AdaptiveSides side) {
  return side == AdaptiveSides::kDecoderOnly || side == AdaptiveSides::kBoth;
}

/// How active nodes attend to halted nodes.
enum class HaltedKeys {
  kFrozen,   // by keys and values of the halted nodes' last states, without coordinate embeddings
  kDropped,  // not at all
};

inline constexpr auto enum_names(HaltedKeys) {
  return std::array{EnumName{HaltedKeys::kFrozen, "frozen"}, EnumName{HaltedKeys::kDropped, "dropped"}};
}

/// The transition function, which follows attention in each step (Dehghani et al. 2019, section 2.1).
enum class Transition {
  kFeedForward,           // a feed-forward layer on each node alone
  kSeparableConvolution,  // a feed-forward layer after a depthwise convolution over neighbouring tokens
};

inline constexpr auto enum_names(Transition) {
  return std::array{EnumName{Transition::kFeedForward, "feed_forward"},
                    EnumName{Transition::kSeparableConvolution, "separable_convolution"}};
}

/// Options of a Universal Transformer (Dehghani et al. 2019) with adaptive computation time (Graves 2016).
struct UniversalOptions {
  AdaptiveSides adaptive = AdaptiveSides::kBoth;
  double epsilon = 0.01;
  double halting_bias = 1.0;
  double ponder_weight = 0.01;
  HaltedKeys halted_keys = HaltedKeys::kFrozen;
  Transition transition = Transition::kFeedForward;
  std::int64_t filter_width = 3;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("adaptive", self.adaptive,
          "sides with adaptive computation; nodes of the other sides take encoder_layers or decoder_layers steps");
    field("epsilon", self.epsilon, "a node halts once its halting probabilities sum to 1 - epsilon",
          at_least(1e-9).at_most(0.999));
    field("halting_bias", self.halting_bias,
          "initial bias of the halting units: with 1 nodes first halt in the second step, with -3 hardly ever",
          at_least(-100).at_most(100));
    field("ponder_weight", self.ponder_weight,
          "weight of the ponder cost (mean over nodes of steps + remainder) in the training loss",
          at_least(0).at_most(1000));
    field("halted_keys", self.halted_keys,
          "attention to halted nodes: frozen (by keys and values of their last states) or dropped (none)");
    field("transition", self.transition,
          "layer after attention in each step: feed_forward, or separable_convolution, which also mixes neighbouring "
          "tokens and needs halted_keys frozen");
    field("filter_width", self.filter_width,
          "width of the separable convolution, in tokens: centred on the token in the encoder, ending with it in the "
          "decoder",
          at_least(1).at_most(255));
  }
};

}  // namespace edgewise
