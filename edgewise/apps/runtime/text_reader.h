// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "edgewise/base/stop_request.h"
#include "edgewise/text/sentence_splitter.h"
#include "edgewise/translate/text_lines.h"

namespace edgewise {

/// Reads a text in pieces that no sentence goes beyond: lines or, if a line break is a space, paragraphs with the empty
/// line behind them. The pieces joined are the text with every byte. A paragraph of more than a mebibyte becomes
/// several pieces.
class TextReader {
 public:
  TextReader(TextLinesOptions options, LineBreaks line_breaks);

  /// Returns nullopt at the end. Throws Error as TextLines does.
  std::optional<std::string> next();

  /// Makes next(), which may wait in another thread, throw StopException.
  void stop() { stop_ = true; }

 private:
  StopRequest stop_ = false;
  LineBreaks line_breaks_;
  TextLines lines_;
};

}  // namespace edgewise
