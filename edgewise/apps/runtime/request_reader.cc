// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/request_reader.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

namespace {

TextLinesOptions with_stop(TextLinesOptions options, const StopRequest& stop) {
  options.stop = &stop;
  return options;
}

}  // namespace

RequestReader::RequestReader(TextLinesOptions inputs, std::optional<TextLinesOptions> prefixes, const TextShard& shard)
    : inputs_(with_stop(std::move(inputs), stop_)), shard_(shard) {
  if (prefixes) prefixes_.emplace(with_stop(*std::move(prefixes), stop_));
}

std::optional<TranslationRequest> RequestReader::next() {
  while (inputs_.line_number() % shard_.count != shard_.index && inputs_.skip()) {
    if (prefixes_) prefixes_->skip();
  }
  auto input = inputs_.next();
  if (!prefixes_) return input ? std::optional(TranslationRequest{*std::move(input)}) : std::nullopt;

  auto prefix = prefixes_->next();
  if (input.has_value() != prefix.has_value()) {
    const auto& [shorter, longer] = input ? std::tie(*prefixes_, inputs_) : std::tie(inputs_, *prefixes_);
    fail("{}: {} has {} lines, needs as many as {}, which has more", inputs_.caller(), shorter.path(),
         longer.line_number() - 1, longer.path());
  }
  if (!input) return std::nullopt;
  return TranslationRequest{*std::move(input), *std::move(prefix),
                            fmt::format("{}:{}", prefixes_->path(), prefixes_->line_number())};
}

}  // namespace edgewise
