// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/config/fields.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// How the frequencies of rotary positions are changed for texts longer than those of a model's first training.
enum class RotaryScaling {
  kNone,
  kLinear,  // divides all by a factor: positions are interpolated (Chen et al. 2023)
  kLlama3   // divides low frequencies only, as Llama 3.1 and later do
};

inline constexpr auto enum_names(RotaryScaling) { return names_in_order<RotaryScaling>("none", "linear", "llama3"); }

/// Options of rotary positions (Su et al. 2021): pair k of a head of K numbers turns by its frequency per position,
/// base^(-2 k / K) before scaling.
struct RotaryOptions {
  double base = kPositionBase;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 8;
  double low_frequency = 1;
  double high_frequency = 4;
  std::int64_t trained_length = 8192;

  static void list_fields(auto& self, auto&& field) {
    field("base", self.base,
          "base of the frequencies: pair k of a head of K numbers turns by base^(-2 k / K) per position",
          at_least(2).at_most(1e12));
    field("scaling", self.scaling,
          "how frequencies are changed for longer texts: none, linear (all are divided by factor), or llama3 (low ones "
          "are)");
    field("factor", self.factor, "divisor of the scaled frequencies", at_least(1).at_most(1e6));
    field("low_frequency", self.low_frequency,
          "llama3 divides frequencies of at most so many turns in trained_length positions",
          at_least(1e-3).at_most(1e6));
    field("high_frequency", self.high_frequency,
          "llama3 keeps frequencies of at least so many turns in trained_length positions; above low_frequency",
          at_least(1e-3).at_most(1e6));
    field("trained_length", self.trained_length, "tokens of the texts that llama3's model was first trained on",
          at_least(1).at_most(1'000'000'000));
  }
};

}  // namespace edgewise
