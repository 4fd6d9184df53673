// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translation_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/json.h"

namespace edgewise {
namespace {

std::string alignment_text(const TranslatedText& output) {
  std::string text;
  for (const AlignedPair& pair : output.alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.input, pair.output);
  }
  return text;
}

/// Replaces line feeds, which a vocabulary may have learned as tokens, by spaces.
std::string replace_line_feeds(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string attention_json(const TranslatedText& output) {
  return json_array(output.attention,
                    [](const AttentionRow& row) { return fmt::format("[{:.4f}]", fmt::join(row.weights, ", ")); });
}

std::string attention_begin_json(const TranslatedText& output) {
  return json_array(output.attention, [](const AttentionRow& row) { return std::to_string(row.first_input); });
}

std::string json_of(const TranslatedText& output, const TranslationFormat& format) {
  JsonObject json;
  json.add("text", output.text)
      .add("score", output.score)
      .add("log_probability", output.log_probability)
      .add_json("tokens", json_array(output.tokens, quote_json));
  if (!output.ponder_steps.empty()) json.add_json("steps", fmt::format("[{}]", fmt::join(output.ponder_steps, ", ")));
  if (format.has_attention) {
    json.add_json("attention", attention_json(output)).add_json("attention_begin", attention_begin_json(output));
  }
  if (format.has_alignments) {
    json.add_json("alignment", json_array(output.alignment, [](const AlignedPair& pair) {
                    return fmt::format("[{}, {}]", pair.input, pair.output);
                  }));
  }
  return json.text();
}

std::string json_of(const Translation& translation, std::int64_t number, const TranslationFormat& format) {
  JsonObject json;
  json.add("line", number)
      .add_json("input_tokens", json_array(translation.input_tokens, quote_json))
      .add_json("outputs",
                json_array(translation.outputs, [&](const TranslatedText& output) { return json_of(output, format); }));
  if (translation.was_cut) json.add("was_cut", true);
  return json.text() + "\n";
}

std::string format_translation(const Translation& translation, std::int64_t number, const TranslationFormat& format) {
  if (format.is_json) return json_of(translation, number, format);
  std::string lines;
  for (const TranslatedText& output : translation.outputs) {
    if (format.is_n_best) lines += fmt::format("{}\t", number);
    if (format.has_scores) lines += fmt::format("{:.6f}\t", output.score);
    lines += replace_line_feeds(output.text);
    if (format.has_alignments) lines += "\t" + alignment_text(output);
    lines += "\n";
  }
  return lines;
}

/// Writes the lines of a command to a file, which is renamed into place at the end, or to standard output. Standard
/// output has whole lines only, even when the program is killed. Prints the number of sentences on standard error if
/// that is a terminal, unless the lines go to a terminal too.
class LineOutput {
 public:
  /// A null file means standard output, whose errors begin with `caller`.
  LineOutput(AtomicFile* file, std::string_view caller)
      : caller_(caller),
        file_(file),
        is_live_(isatty(STDERR_FILENO) == 1 && (file != nullptr || isatty(STDOUT_FILENO) == 0)),
        start_(Clock::now()),
        last_progress_(start_) {}
  ~LineOutput() { end_progress(); }

  /// Writes the whole lines of one sentence.
  void write(std::string_view text) {
    ++sentences_;
    if (file_ != nullptr) {
      file_->write(text);
    } else {
      write_output(text);
      require_output(caller_);
    }
    if (is_live_) print_progress();
  }

  /// Renames the file into place, after the last sentence.
  void finish() {
    if (file_ != nullptr) file_->commit();
    end_progress();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void print_progress() {
    const auto now = Clock::now();
    if (now - last_progress_ < std::chrono::milliseconds(200)) return;
    last_progress_ = now;
    has_progress_line_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    // Return to the start of the line, and clear the rest of a longer line.
    print_error("\r{} sentences, {:.1f} a second\x1b[K", sentences_, static_cast<double>(sentences_) / seconds);
  }

  void end_progress() {
    if (has_progress_line_) print_error("\n");
    has_progress_line_ = false;
  }

  std::string caller_;
  AtomicFile* file_;
  bool is_live_;
  bool has_progress_line_ = false;
  std::int64_t sentences_ = 0;
  Clock::time_point start_;
  Clock::time_point last_progress_;
};

}  // namespace

std::unique_ptr<AtomicFile> open_output(const std::string& path, std::string_view caller) {
  return path.empty() ? nullptr : std::make_unique<AtomicFile>(path, caller);
}

void write_translations(Translator& translator, RequestReader& requests, AtomicFile* file, std::string_view caller,
                        const TranslationFormat& format) {
  LineOutput output(file, caller);
  std::int64_t number = 0;
  translator.translate(
      [&] { return requests.next(); },
      [&](const Translation& translation) { output.write(format_translation(translation, ++number, format)); },
      [&] { requests.stop(); });
  output.finish();
}

}  // namespace edgewise
