// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/text/sentence_case.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

/// A vocabulary of sentences in a case: what is encoded has it applied first, what is decoded has it undone. The
/// vocabulary itself where capitals are kept.
std::shared_ptr<const Vocabulary> with_case(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case);

}  // namespace edgewise
