// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// Positions of the tokens of a training pair; draw_positions (data/batches.h) gives the reason to draw them at random.
enum class TrainingPositions { kCounted, kShifted, kSpread };

inline constexpr auto enum_names(TrainingPositions) {
  return std::array{EnumName{TrainingPositions::kCounted, "counted"}, EnumName{TrainingPositions::kShifted, "shifted"},
                    EnumName{TrainingPositions::kSpread, "spread"}};
}

struct BatchOptions {
  std::int64_t tokens = 4096;
  std::int64_t sentences = 0;
  std::int64_t bucket = 32;
  std::int64_t window = 262144;
  TrainingPositions positions = TrainingPositions::kCounted;
  std::int64_t positions_below = 512;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("tokens", self.tokens,
          "most tokens of a batch, on the side with more tokens; a longer pair is a batch by itself; 0: no limit",
          at_least(0).at_most(1e8));
    field("sentences", self.sentences, "most sentence pairs of a batch; 0: no limit", at_least(0).at_most(1e8));
    field("bucket", self.bucket,
          "number of batches whose pairs are sorted by length together; 0: all batches of an epoch",
          at_least(0).at_most(1e9));
    field("window", self.window,
          "most sentence pairs in memory at once; an epoch reads a larger corpus in several windows; 0: no limit",
          at_least(0).at_most(1e9));
    field("positions", self.positions,
          "positions of tokens in training: counted from 0, shifted by a random offset, or spread over random "
          "increasing positions; shifted and spread help with sentences longer than those of the training data");
    field("positions_below", self.positions_below, "upper limit of shifted and spread positions",
          at_least(1).at_most(1e6));
  }
};

}  // namespace edgewise
