// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary.h"

namespace edgewise {

std::shared_ptr<const Vocabulary> build_sentencepiece_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                                 const VocabularyOptions& options);

/// Checks the model (sentencepiece_check.h), then lets the library read it.
std::shared_ptr<const Vocabulary> parse_sentencepiece_vocabulary(std::string_view bytes, std::string_view name);

}  // namespace edgewise
