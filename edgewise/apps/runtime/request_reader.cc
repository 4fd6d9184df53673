// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/request_reader.h"

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

RequestReader::RequestReader(TextLinesOptions inputs, std::optional<TextLinesOptions> prefixes)
    : inputs_(std::move(inputs)) {
  if (prefixes) prefixes_.emplace(*std::move(prefixes));
}

std::optional<TranslationRequest> RequestReader::next() {
  auto input = inputs_.next();
  if (!prefixes_) return input ? std::optional(TranslationRequest{*std::move(input)}) : std::nullopt;

  auto prefix = prefixes_->next();
  if (input.has_value() != prefix.has_value()) {
    const auto& [shorter, longer] = input ? std::tie(*prefixes_, inputs_) : std::tie(inputs_, *prefixes_);
    fail("{}: {} has {} lines and {} has more, as many are needed", inputs_.caller(), shorter.path(),
         longer.line_number() - 1, longer.path());
  }
  if (!input) return std::nullopt;
  return TranslationRequest{*std::move(input), *std::move(prefix)};
}

}  // namespace edgewise
