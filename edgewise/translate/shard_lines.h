// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "edgewise/text/text_shards.h"
#include "edgewise/translate/text_lines.h"

namespace edgewise {

/// Reads the lines of a shard as UTF-8. Messages count lines from the beginning of the shard in a file:
/// `big.en (from byte 1000):7`.
class ShardLines {
 public:
  /// `options` are those of TextLines without a path. The text must outlive this object.
  ShardLines(const ShardedText& text, TextShard shard, TextLinesOptions options);

  /// Returns nullopt at the end. Throws Error as TextLines does.
  std::optional<std::string> next();

  /// Leaves out lines, which are not checked. Throws Error if the shard has fewer.
  void skip(std::int64_t lines);

  /// Returns how many lines were read or left out.
  std::int64_t num_lines() const { return num_lines_; }

 private:
  bool open_next_span();

  const ShardedText& text_;
  TextShard shard_;
  TextLinesOptions options_;
  std::size_t next_span_ = 0;
  std::unique_ptr<TextLines> lines_;  // lines of the span before next_span_
  std::int64_t num_lines_ = 0;
};

}  // namespace edgewise
