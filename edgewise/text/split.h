// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace edgewise {

enum class Split { kTrain, kValid, kTest };

/// Parts of the whole, each from 0 to 1 and not above 1 together; the rest is for training.
struct SplitShares {
  double valid = 0.01;
  double test = 0.01;
};

/// Which side of a corpus a sentence is on: a function of its words alone, so that it is never both trained on and
/// tested, whatever its case, punctuation and place in the corpus, in any run, on any machine.
Split split_of(std::string_view sentence, const SplitShares& shares = {});

/// The number behind it: equal for sentences that are equal but for case and for what is no letter and no number.
std::uint64_t hash_of_words(std::string_view sentence);

}  // namespace edgewise
