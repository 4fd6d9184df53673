// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"

namespace edgewise {

/// Which side's nodes decide for themselves how many steps they think; those of the other take the most there are.
enum class AdaptiveSide { kNone, kEncoderOnly, kDecoderOnly, kBoth };

inline constexpr auto enum_names(AdaptiveSide) {
  return std::array{EnumName<AdaptiveSide>{AdaptiveSide::kNone, "none"},
                    EnumName<AdaptiveSide>{AdaptiveSide::kEncoderOnly, "encoder"},
                    EnumName<AdaptiveSide>{AdaptiveSide::kDecoderOnly, "decoder"},
                    EnumName<AdaptiveSide>{AdaptiveSide::kBoth, "both"}};
}

constexpr bool encoder_adapts(AdaptiveSide side) {
  return side == AdaptiveSide::kEncoderOnly || side == AdaptiveSide::kBoth;
}
constexpr bool decoder_adapts(AdaptiveSide side) {
  return side == AdaptiveSide::kDecoderOnly || side == AdaptiveSide::kBoth;
}

/// What the nodes that still think see of one that has halted.
enum class HaltedKeys {
  kFrozen,      // key and value of its last state, which no step signal is added to any more
  kStale,       // those of its last step, made before that step changed its state: the graph tutorial's
  kRecomputed,  // made anew each step, of its last state with the signal of the step
  kDropped,     // nothing
};

inline constexpr auto enum_names(HaltedKeys) {
  return std::array{EnumName<HaltedKeys>{HaltedKeys::kFrozen, "frozen"},
                    EnumName<HaltedKeys>{HaltedKeys::kStale, "stale"},
                    EnumName<HaltedKeys>{HaltedKeys::kRecomputed, "recomputed"},
                    EnumName<HaltedKeys>{HaltedKeys::kDropped, "dropped"}};
}

/// What follows attention in each step.
enum class Transition {
  kFeedForward,           // the same for each node
  kSeparableConvolution,  // feed-forward of what a filter makes of the node and its neighbours
};

inline constexpr auto enum_names(Transition) {
  return std::array{EnumName<Transition>{Transition::kFeedForward, "feed_forward"},
                    EnumName<Transition>{Transition::kSeparableConvolution, "separable_convolution"}};
}

/// Adaptive computation time (Graves 2016) of a Universal Transformer (Dehghani et al. 2019).
struct UniversalOptions {
  AdaptiveSide adaptive = AdaptiveSide::kBoth;
  double epsilon = 0.01;
  double halting_bias = 1.0;
  double ponder_weight = 0.01;
  HaltedKeys halted_keys = HaltedKeys::kFrozen;
  Transition transition = Transition::kFeedForward;
  std::int64_t filter_width = 3;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("adaptive", self.adaptive, "whose nodes decide how many steps they take; the others take as many as layers");
    field("epsilon", self.epsilon, "a node halts once its probabilities of halting sum to 1 - epsilon",
          above(0).below(1));
    field("halting_bias", self.halting_bias,
          "what the bias of halting units starts from: 1 halts in the second step at first, -3 hardly ever");
    field("ponder_weight", self.ponder_weight, "of steps and remainder, a node's mean, in the loss", at_least(0));
    field("halted_keys", self.halted_keys, "what other nodes see of one that has halted");
    field("transition", self.transition,
          "what follows attention in each step: feed_forward, or that behind a filter over neighbours in the sentence, "
          "which needs halted_keys frozen");
    field("filter_width", self.filter_width,
          "nodes that a separable convolution's filter reads: around the node in the encoder, up to it in the decoder",
          at_least(1).at_most(255));
  }
};

}  // namespace edgewise
