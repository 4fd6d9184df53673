// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/shard_lines.h"

#include <fmt/format.h>

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

ShardLines::ShardLines(const ShardedText& text, TextShard shard, TextLinesOptions options)
    : text_(text), shard_(std::move(shard)), options_(std::move(options)) {}

bool ShardLines::open_next_span() {
  if (next_span_ == shard_.spans.size()) return false;
  const FileSpan& span = shard_.spans[next_span_++];
  const std::string& path = text_.files()[span.file].path;
  TextLinesOptions options = options_;
  options.path = span.begin == 0 ? path : fmt::format("{} (from byte {})", path, span.begin);
  lines_ = std::make_unique<TextLines>(text_.open(span), /*begins_text=*/span.begin == 0, std::move(options));
  return true;
}

std::optional<std::string> ShardLines::next() {
  while (lines_ || open_next_span()) {
    if (auto line = lines_->next()) {
      ++num_lines_;
      return line;
    }
    lines_.reset();
  }
  return std::nullopt;
}

void ShardLines::skip(std::int64_t lines) {
  const std::int64_t wanted = num_lines_ + lines;
  while (num_lines_ < wanted && (lines_ || open_next_span())) {
    if (lines_->skip()) {
      ++num_lines_;
    } else {
      lines_.reset();
    }
  }
  check(num_lines_ == wanted, "{}: the shard has {} lines, needs the {} that are translated", options_.caller,
        num_lines_, wanted);
}

}  // namespace edgewise
