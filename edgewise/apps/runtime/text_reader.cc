// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/text_reader.h"

#include <utility>

#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

TextLinesOptions keep_all_bytes(TextLinesOptions options, const StopRequest& stop) {
  options.line_ends = LineEnds::kKeep;
  options.stop = &stop;
  return options;
}

}  // namespace

TextReader::TextReader(TextLinesOptions options, LineBreaks line_breaks)
    : line_breaks_(line_breaks), lines_(keep_all_bytes(std::move(options), stop_)) {}

std::optional<std::string> TextReader::next() {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  std::optional<std::string> line = lines_.next();
  if (line_breaks_ == LineBreaks::kEnd || !line) return line;
  std::string paragraph = *std::move(line);
  bool ends = strip_space(paragraph).empty();
  while (!ends && paragraph.size() < kMaxBytes) {
    line = lines_.next();
    if (!line) break;
    ends = strip_space(*line).empty();
    paragraph += *line;
  }
  return paragraph;
}

}  // namespace edgewise
