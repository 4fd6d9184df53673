// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// Returns a vocabulary that applies `sentence_case` before encoding and undoes it after decoding; `vocabulary` itself
/// if capitals are kept.
std::shared_ptr<const Vocabulary> with_case(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case);

}  // namespace edgewise
