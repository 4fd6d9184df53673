// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/distil_pairs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/experiment/distil_step.h"
#include "edgewise/text/corpus/parallel_text.h"
#include "edgewise/text/corpus/text_blocks.h"
#include "edgewise/text/metrics/chrf.h"
#include "edgewise/text/unicode.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_lines.h"
#include "edgewise/translate/word_aligner.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

TextLines open_lines(const fs::path& path, const StopRequest& stop) {
  return TextLines(
      {.path = path.string(), .caller = std::string(kDistil), .bad_text = BadText::kReplace, .stop = &stop});
}

/// A line of the corpus, and its reference if there are any.
struct CorpusLine {
  std::string input;
  std::string reference;
};

/// Reads the lines of all files of inputs, and of the references beside them.
class CorpusLines {
 public:
  CorpusLines(const DistilOptions& options, const fs::path& folder, const StopRequest& stop)
      : options_(options), folder_(folder), stop_(stop) {}

  std::optional<CorpusLine> next() {
    while (true) {
      if (!inputs_ && !open_next()) return std::nullopt;
      std::optional<std::string> input = inputs_->next();
      std::optional<std::string> reference = references_ ? references_->next() : std::nullopt;
      check(!references_ || input.has_value() == reference.has_value(),
            "{}: {} and {} have different numbers of lines, needs a reference for each input", kDistil, inputs_->path(),
            references_ ? references_->path() : "");
      if (input) return CorpusLine{std::move(*input), std::move(reference).value_or("")};
      inputs_.reset();
    }
  }

 private:
  bool open_next() {
    if (file_ == options_.inputs.size()) return false;
    inputs_.emplace(open_lines(folder_ / options_.inputs[file_], stop_));
    references_.reset();
    if (!options_.references.empty()) references_.emplace(open_lines(folder_ / options_.references[file_], stop_));
    ++file_;
    return true;
  }

  const DistilOptions& options_;
  fs::path folder_;
  const StopRequest& stop_;
  std::size_t file_ = 0;  // the file that is opened next
  std::optional<TextLines> inputs_;
  std::optional<TextLines> references_;
};

std::string as_field(std::string text) {
  std::ranges::replace_if(
      text, [](char letter) { return letter == '\t' || letter == '\n' || letter == '\r'; }, ' ');
  return text;
}

const TranslatedText& choose_output(const Translation& translation, const CorpusLine& line, HypothesisChoice best_by) {
  const std::vector<TranslatedText>& outputs = translation.outputs;
  if (best_by == HypothesisChoice::kScore || line.reference.empty()) return outputs.front();
  return *std::ranges::max_element(outputs, {}, [&line](const TranslatedText& output) {
    return chrf(std::span(&output.text, 1), std::span(&line.reference, 1)).score;
  });
}

/// Returns the line of a translation in the file of all.
std::string format_translation(const Translation& translation, const CorpusLine& line, HypothesisChoice best_by) {
  const TranslatedText& output = choose_output(translation, line, best_by);
  const auto tokens = static_cast<double>(output.token_numbers.size() + 1);  // with the end token
  return fmt::format("{}\t{}\t{:.5f}\n", as_field(line.input), translation.was_cut ? "" : as_field(output.text),
                     output.log_probability / tokens);
}

/// A file to which complete lines are appended, also after an interruption.
class AppendedLines {
 public:
  explicit AppendedLines(const fs::path& path) : path_(path), file_(open_regular_file(path, O_CREAT, kDistil)) {
    std::uint64_t bytes = 0;
    std::uint64_t complete_bytes = 0;
    RegularFile(path, kDistil).for_each_chunk([&](std::string_view chunk) {
      count_ += std::ranges::count(chunk, '\n');
      const std::size_t last = chunk.rfind('\n');
      if (last != std::string_view::npos) complete_bytes = bytes + last + 1;
      bytes += chunk.size();
    });
    check_call(file_system().truncate(file_.number(), complete_bytes) == 0 ? 0 : errno);
    check_call(::lseek(file_.number(), 0, SEEK_END) >= 0 ? 0 : errno);
  }

  std::int64_t count() const { return count_; }

  void append(std::string_view line) {
    check_call(write_all(file_, line));
    ++count_;
  }

  void sync() { check_call(file_system().sync(file_.number()) == 0 ? 0 : errno); }

 private:
  void check_call(int error) const {
    check(error == 0, "{}: {}: {}", kDistil, path_.string(), error == 0 ? "" : error_text(error));
  }

  fs::path path_;
  FileDescriptor file_;
  std::int64_t count_ = 0;
};

/// Adds a pair to the counter of the reason why it is left out, or to `kept`.
class PairFilter {
 public:
  explicit PairFilter(const DistilFilterOptions& options) : options_(options) {}

  /// Returns whether the pair is kept.
  bool keeps(std::string_view input, std::string_view output, double log_probability) {
    std::int64_t DistilledPairs::*reason = find_reason(input, output, log_probability);
    ++(pairs_.*reason);
    return reason == &DistilledPairs::kept;
  }

  const DistilledPairs& pairs() const { return pairs_; }

 private:
  std::int64_t DistilledPairs::*find_reason(std::string_view input, std::string_view output, double log_probability) {
    const std::int64_t input_words = std::ssize(split_words(input));
    const std::int64_t output_words = std::ssize(split_words(output));
    const auto [shorter, longer] = std::minmax(input_words, output_words);
    if (shorter == 0) return &DistilledPairs::empty;
    if (options_.max_words > 0 && longer > options_.max_words) return &DistilledPairs::too_long;
    constexpr double kAdded = 3;  // words of both sides, so that short pairs stay
    const double ratio = (static_cast<double>(longer) + kAdded) / (static_cast<double>(shorter) + kAdded);
    if (options_.max_ratio > 0 && ratio > options_.max_ratio) return &DistilledPairs::uneven;
    const bool is_likely = !options_.min_log_probability || log_probability >= *options_.min_log_probability;
    if (!is_likely) return &DistilledPairs::unlikely;  // NaN is not likely either
    if (!options_.skip_repeated) return &DistilledPairs::kept;
    TextHash hash;
    hash.add(input);
    hash.add(output);
    return hashes_.insert(hash.value()).second ? &DistilledPairs::kept : &DistilledPairs::repeated;
  }

  const DistilFilterOptions& options_;
  DistilledPairs pairs_;
  std::unordered_set<std::uint64_t> hashes_;
};

/// Returns the three fields of a line of translations.
std::array<std::string_view, 3> split_translation(const TextLines& lines, std::string_view line) {
  const std::size_t first = line.find('\t');
  const std::size_t second = line.find('\t', first + 1);
  check(first != std::string_view::npos && second != std::string_view::npos,
        "{}: {}:{} has fewer than 3 fields, needs those that the step writes", kDistil, lines.path(),
        lines.line_number());
  return {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

/// Returns NaN for text that is not a number.
double parse_log_probability(std::string_view text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> read_all_lines(const fs::path& path, const StopRequest& stop) {
  std::vector<std::string> all;
  TextLines lines = open_lines(path, stop);
  while (std::optional<std::string> line = lines.next()) all.push_back(std::move(*line));
  return all;
}

/// Returns the path of a teacher in the config's folder or, without a file there, its name.
std::string teacher_path(const std::string& teacher, const fs::path& folder) {
  const fs::path path = folder / teacher;
  return path_exists(path, kDistil) ? path.string() : teacher;
}

}  // namespace

std::string DistilledPairs::describe_skipped() const {
  return describe_counts("pair", {{empty, "with an empty side"},
                                  {too_long, "with too many words"},
                                  {uneven, "with sides of too different length"},
                                  {unlikely, "with an unlikely output"},
                                  {repeated, "that came before"}});
}

Translator load_teachers(const DistilOptions& options, const fs::path& folder, const StopRequest& stop) {
  std::vector<std::string> paths;
  for (const std::string& teacher : options.teachers) paths.push_back(teacher_path(teacher, folder));
  std::vector<ModelFiles> models = read_models(paths, kDistil);
  const SearchOptions& search = models.front().experiment.search;
  const bool is_by_chrf = options.search.best_by == HypothesisChoice::kChrf;
  std::int64_t beam = options.search.beam > 0 ? options.search.beam : search.beam;
  if (is_by_chrf) beam = std::max(beam, options.search.n_best);
  TranslatorOptions translator = {.precision = options.search.precision, .stop = &stop};
  translator.beam = beam;
  translator.n_best = is_by_chrf ? options.search.n_best : 1;
  return Translator(std::move(models), translator);
}

void translate_corpus(const DistilOptions& options, const fs::path& folder, const fs::path& file,
                      DistilObserver& observer, const StopRequest& stop) {
  AppendedLines lines(file);
  CorpusLines corpus(options, folder, stop);
  for (std::int64_t i = 0; i < lines.count(); ++i) {
    check(corpus.next().has_value(), "{}: {} has more lines than the inputs, needs a line for each", kDistil,
          file.string());
  }
  Translator teachers = load_teachers(options, folder, stop);
  std::mutex mutex;
  std::deque<CorpusLine> waiting;  // lines that are being translated
  const auto next = [&]() -> std::optional<TranslationRequest> {
    std::optional<CorpusLine> line = corpus.next();
    if (!line) return std::nullopt;
    TranslationRequest request = {.input = line->input};
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(*line));
    return request;
  };
  teachers.translate(next, [&](const Translation& translation) {
    CorpusLine line;
    {
      const std::lock_guard lock(mutex);
      line = std::move(waiting.front());
      waiting.pop_front();
    }
    lines.append(format_translation(translation, line, options.search.best_by));
    observer.on_translation(lines.count());
  });
  lines.sync();
}

DistilledPairs filter_pairs(const fs::path& translations, const DistilFilterOptions& options, const fs::path& inputs,
                            const fs::path& outputs, const StopRequest& stop) {
  PairFilter filter(options);
  AtomicFile input_file(inputs, kDistil);
  AtomicFile output_file(outputs, kDistil);
  TextLines lines = open_lines(translations, stop);
  while (const std::optional<std::string> line = lines.next()) {
    const auto [input, output, log_probability] = split_translation(lines, *line);
    if (!filter.keeps(input, output, parse_log_probability(log_probability))) continue;
    input_file.write(fmt::format("{}\n", input));
    output_file.write(fmt::format("{}\n", output));
  }
  const DistilledPairs& pairs = filter.pairs();
  check(pairs.kept > 0, "{}: no pair is left, needs at least one; left out: {}", kDistil, pairs.describe_skipped());
  input_file.commit();
  output_file.commit();
  return pairs;
}

void write_links(const fs::path& inputs, const fs::path& outputs, std::int64_t iterations, const fs::path& links,
                 const StopRequest& stop) {
  AtomicFile file(links, kDistil);
  for (const std::vector<WordLink>& of_pair :
       align_words(read_all_lines(inputs, stop), read_all_lines(outputs, stop), iterations, &stop)) {
    std::string line;
    for (const auto& [input, output] : of_pair) line += fmt::format("{}{}-{}", line.empty() ? "" : " ", input, output);
    file.write(line + "\n");
  }
  file.commit();
}

}  // namespace edgewise
