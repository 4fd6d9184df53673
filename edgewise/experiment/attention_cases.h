// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/fields.h"
#include "edgewise/graph/relation.h"

namespace edgewise {

/// What attention is timed on; bench/peers/attention_cases.py has the same.
enum class AttentionCase {
  kSentences,  // 128 sentences of 6 to 28 tokens, each of which sees its sentence
  kCausal,     // the same, each sees what is before it
  kSmall,      // as kSentences, on 4 heads of 32
  kWindow,     // 4096 nodes in a row, each sees those up to 128 before and after it
  kRandom,     // 8192 nodes, each sees 32 drawn from all
};

inline constexpr auto enum_names(AttentionCase) {
  return std::array{EnumName<AttentionCase>{AttentionCase::kSentences, "sentences"},
                    EnumName<AttentionCase>{AttentionCase::kCausal, "causal"},
                    EnumName<AttentionCase>{AttentionCase::kSmall, "small"},
                    EnumName<AttentionCase>{AttentionCase::kWindow, "window"},
                    EnumName<AttentionCase>{AttentionCase::kRandom, "random"}};
}

struct AttentionWorkload {
  Relation relation;  // of nodes to themselves
  std::int64_t heads = 8;
  std::int64_t head_size = 64;
};

AttentionWorkload attention_workload(AttentionCase which);

}  // namespace edgewise
