// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/stop_request.h"
#include "edgewise/translate/text_lines.h"
#include "edgewise/translate/translation.h"

namespace edgewise {

/// Each `count`-th line of a text, from line `index` on, counted from 0.
struct TextShard {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

/// Reads translation requests from a text of inputs and, optionally, a text of prefixes, line by line.
class RequestReader {
 public:
  explicit RequestReader(TextLinesOptions inputs, std::optional<TextLinesOptions> prefixes = std::nullopt,
                         const TextShard& shard = {});

  /// Returns nullopt at the end. Throws Error as TextLines does, and if one text has more lines than the other.
  std::optional<TranslationRequest> next();

  /// Makes next(), which may wait in another thread, throw StopException.
  void stop() { stop_ = true; }

 private:
  StopRequest stop_ = false;
  TextLines inputs_;
  std::optional<TextLines> prefixes_;
  TextShard shard_;
};

}  // namespace edgewise
