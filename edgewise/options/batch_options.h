// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"

namespace edgewise {

/// At which positions the words of a training pair stand; drawn_positions.h says why they are drawn.
enum class TrainingPositions { kCounted, kShifted, kSpread };

inline constexpr auto enum_names(TrainingPositions) {
  return std::array{EnumName<TrainingPositions>{TrainingPositions::kCounted, "counted"},
                    EnumName<TrainingPositions>{TrainingPositions::kShifted, "shifted"},
                    EnumName<TrainingPositions>{TrainingPositions::kSpread, "spread"}};
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
    field("tokens", self.tokens, "most tokens in a batch, on its longer side; one longer pair is a batch; 0: no limit",
          at_least(0));
    field("sentences", self.sentences, "most sentence pairs in a batch; 0: no limit", at_least(0));
    field("bucket", self.bucket, "batches whose pairs are sorted by length together; 0: those of a whole epoch",
          at_least(0));
    field("window", self.window,
          "most pairs in memory at once; of more, an epoch goes through one such part after the other; 0: no limit",
          at_least(0));
    field("positions", self.positions,
          "of words while learning: counted from 0, shifted by a random number, or spread over random places in order; "
          "the latter two for sentences longer than those learned from");
    field("positions_below", self.positions_below, "what shifted and spread positions are below",
          at_least(1).at_most(1e6));
  }
};

}  // namespace edgewise
