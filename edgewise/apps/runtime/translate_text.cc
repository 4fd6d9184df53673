// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/runtime/translate_command.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/corpus/byte_source.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_translator.h"

namespace edgewise {
namespace {

/// Reads a text in pieces that no sentence goes beyond: lines or, if a line break is a space, paragraphs with the empty
/// line after them. The pieces joined are the text with every byte. A paragraph of more than a mebibyte becomes
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

std::string read_bytes(const TranslateCommand& command) {
  const auto source = open_source({.path = command.input, .caller = "translate"});
  std::string bytes;
  std::vector<char> buffer(std::size_t{64} * 1024);
  while (const std::size_t size = source->read(buffer)) {
    bytes.append(buffer.data(), size);
    check(bytes.size() <= command.max_document,
          "translate: {} has more than {} bytes, needs at most as many; divide the document or raise --max-document",
          source_name(command.input), command.max_document);
  }
  return bytes;
}

/// Reads a whole document. Bytes that are not UTF-8, if the command allows them, stay in the result: parse_html
/// replaces those in text.
std::string read_document(const TranslateCommand& command) {
  std::string html = read_bytes(command);
  const auto bad = find_bad_utf8(html);
  if (!bad) return html;
  const std::string what =
      fmt::format("translate: {} has a byte that is not UTF-8 at {}", source_name(command.input), *bad);
  check(command.bad_text == BadText::kReplace, "{}, needs UTF-8", what);
  print_report(what + "; such bytes are replaced by U+FFFD");
  return html;
}

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

void run_html(const TranslateCommand& command) {
  const std::string html = read_document(command);
  const std::unique_ptr<AtomicFile> file = open_output_file(command);
  Translator translator = open_translator_of_texts(command, "--html");
  const std::string translated = translate_markup(html, [&](std::span<const std::string> texts) {
    return translate_aligned(translator, texts, command.text.language);
  });
  if (file != nullptr) {
    file->write(translated);
    file->commit();
  } else {
    write_output(translated);
    require_output("translate");
  }
}

}  // namespace edgewise
