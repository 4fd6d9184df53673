// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/text/metrics/word_alignment.h"

namespace edgewise {

/// Links the words of sentence pairs, which white space separates, for guided alignment. Model 1 (lexical_table.h)
/// chooses for each output word the input word that most probably has this translation, and likewise for each input
/// word; two words that choose each other are linked. Among words of equal probability, such as repeated ones, the word
/// at the most similar place is chosen. Words are compared in small letters, without marks around them. Memory grows
/// with the number of different pairs of words that occur together. The links of a pair ascend. Throws Error for
/// different numbers of sentences, and StopException if `stop` is set meanwhile.
std::vector<std::vector<WordLink>> align_words(std::span<const std::string> inputs,
                                               std::span<const std::string> outputs, std::int64_t iterations,
                                               const StopRequest* stop = nullptr);

}  // namespace edgewise
