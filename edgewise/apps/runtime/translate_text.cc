// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/apps/runtime/translate_command.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

/// Reads a text in pieces that no sentence goes beyond: lines or, if a line break is a space, paragraphs with the empty
/// line behind them. The pieces joined are the text with every byte. A paragraph of more than a mebibyte becomes
/// several pieces.
class TextReader {
 public:
  TextReader(TextLinesOptions options, LineBreaks line_breaks)
      : line_breaks_(line_breaks), lines_(keep_all_bytes(std::move(options), stop_)) {}

  /// Returns nullopt at the end. Throws Error as TextLines does.
  std::optional<std::string> next() {
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

  /// Makes next(), which may wait in another thread, throw StopException.
  void stop() { stop_ = true; }

 private:
  static TextLinesOptions keep_all_bytes(TextLinesOptions options, const StopRequest& stop) {
    options.line_ends = LineEnds::kKeep;
    options.stop = &stop;
    return options;
  }

  StopRequest stop_ = false;
  LineBreaks line_breaks_;
  TextLines lines_;
};

/// Writes a translated text in whole lines, and at last the end of a text that does not end with a line feed.
class WholeLines {
 public:
  explicit WholeLines(LineOutput& output) : output_(output) {}

  void write(std::string_view text, int sentences) {
    const std::size_t end = line_.size() + text.rfind('\n') + 1;
    const bool ends_line = text.find('\n') != std::string_view::npos;
    line_ += text;
    sentences_ += sentences;
    if (!ends_line) return;
    output_.write(std::string_view(line_).substr(0, end), std::exchange(sentences_, 0));
    line_.erase(0, end);
  }

  void finish() {
    if (!line_.empty()) output_.write(line_, sentences_);
    output_.finish();
  }

 private:
  LineOutput& output_;
  std::string line_;
  int sentences_ = 0;
};

}  // namespace

void run_text(const TranslateCommand& command) {
  TextReader reader(text_options(command, command.input), command.text.line_breaks);
  const std::unique_ptr<AtomicFile> file = open_output_file(command);
  Translator translator = open_translator_of_texts(command, "--text");
  LineOutput output(file.get(), "translate");
  WholeLines lines(output);
  translate_text(
      translator, [&] { return reader.next(); },
      [&](std::string_view text, int sentences) { lines.write(text, sentences); }, command.text,
      [&] { reader.stop(); });
  lines.finish();
}

}  // namespace edgewise
