// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/vocabulary_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {

std::string only_vocabulary_file(std::string_view prefix, const std::function<bool(const std::string& name)>& has,
                                 std::string_view error_prefix) {
  std::vector<std::string> found;
  for (const std::string_view file : kVocabularyFiles) {
    std::string name = fmt::format("{}{}", prefix, file);
    if (has(name)) found.push_back(std::move(name));
  }
  check(!found.empty(), "{} none of {}{}, {}{} and {}{}, needs one of them", error_prefix, prefix, kLookupFile, prefix,
        kSentencePieceFile, prefix, kMappedFile);
  check(found.size() == 1, "{} {}, needs one of them", error_prefix, fmt::join(found, " and "));
  return found.front();
}

}  // namespace edgewise
