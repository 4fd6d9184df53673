// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/threads.h"
#include "edgewise/base/utf8.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/pictures/run_comparison.h"

namespace edgewise {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

/// Returns the columns of the terminal, or 80 when they are not known.
std::size_t terminal_width() {
  winsize size = {};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

void print_unless_empty(std::string_view name, const std::string& counts) {
  if (!counts.empty()) print_output("{}: {}\n", name, counts);
}

}  // namespace

void print_corpus_report(const Corpus& corpus) {
  for (const TrainingText& text : corpus.train) {
    const PairReport& report = text.text->report();
    if (corpus.train.size() > 1)
      print_output("{}: {} pairs, weight {}\n", printable(text.name), report.kept, text.weight);
    print_unless_empty("left out", report.describe_skipped());
    for (const std::string& place : report.first_skipped) print_output("  {}\n", printable(place));
    print_unless_empty("put right", report.describe_repairs());
    print_unless_empty("warning", report.describe_doubts());
  }
}

void print_text_report(const TextCorpus& corpus) {
  const DocumentReport& report = corpus.train->report();
  print_unless_empty("left out", describe_counts("line", {{report.skipped, "with bad UTF-8"}}));
  print_unless_empty("put right", describe_counts("line", {{report.replaced, "with bad UTF-8"}}));
  for (const std::string& place : report.first_bad) print_output("  {}\n", printable(place));
}

std::string format_validation(const Validation& validation) {
  std::string text = fmt::format("loss {:.3f}, accuracy {:.1f} %", validation.loss, 100 * validation.accuracy);
  if (validation.sequence_accuracy) {
    text += fmt::format(", sequences right {:.2f} %", 100 * *validation.sequence_accuracy);
  }
  if (validation.bleu) text += fmt::format(", BLEU {:.2f}", *validation.bleu);
  if (validation.bits_per_byte) {
    const bool has_characters = validation.bits_per_character.has_value();
    text += fmt::format(", perplexity {:.2f}, {:.3f} bits per {}", std::exp(validation.loss),
                        has_characters ? *validation.bits_per_character : *validation.bits_per_byte,
                        has_characters ? "character" : "byte");
  }
  return text;
}

Progress::Progress(const Experiment& experiment, TrainSignals& signals)
    : experiment_(experiment), signals_(signals), is_live_(isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() { finish_line(); }

void Progress::on_restore(const std::string& damage) { print_error("{}\n", printable(damage)); }

void Progress::on_device(at::Device device) {
  if (!device.is_cpu()) print_output("computes on the GPU {}\n", device.str());
}

void Progress::on_corpus(const Corpus& corpus) { print_corpus_report(corpus); }

void Progress::on_encode(const EncodeReport& report) {
  print_unless_empty("left out", report.describe_skipped());
  if (report.truncated > 0) print_output("shortened: {} pairs with too long a sentence\n", report.truncated);
}

void Progress::on_data(std::int64_t training_pairs, const Corpus& corpus, const Vocabularies& vocabularies) {
  print_output("{} pairs to learn from, {} to validate, {} to test; {}\n", training_pairs, corpus.valid.size(),
               corpus.test.size(), describe_vocabularies(vocabularies, experiment_.vocabulary.shared));
}

void Progress::on_texts(const TextCorpus& corpus) { print_text_report(corpus); }

void Progress::on_text_data(std::optional<std::int64_t> training_tokens, const TextCorpus& corpus,
                            const Vocabularies& vocabularies) {
  const auto size_of = [](const auto& text) { return text == nullptr ? 0 : text->report().bytes; };
  print_output("{}{} bytes in {} documents to learn from, {} bytes to validate, {} to test; {}\n",
               training_tokens ? fmt::format("{} tokens from ", *training_tokens) : "", size_of(corpus.train),
               corpus.train->report().documents, size_of(corpus.valid), size_of(corpus.test),
               describe_vocabularies(vocabularies, experiment_.vocabulary.shared));
}

void Progress::on_model(const SequenceModel& model) {
  print_output("a {} of {} parameters, {} threads\n", model_name(model.options().kind),
               count_parameters(model.parameters()), num_threads());
}

void Progress::on_parameters(const std::string& file) {
  print_output("starts from the parameters in {}\n", printable(file));
}

void Progress::on_start() { signals_.handle_end_signals(); }

/// Puts the most important numbers first, because a narrow terminal cuts off the end.
std::string Progress::format_line(const StepReport& report) const {
  std::string line = report.last_step ? fmt::format("step {}/{}", report.step, *report.last_step)
                                      : fmt::format("step {}", report.step);
  line += fmt::format("  loss {:.3f}", report.loss);
  if (last_validation_.bleu) line += fmt::format("  BLEU {:.2f}", *last_validation_.bleu);
  line += fmt::format("  {:.0f} tokens/s", report.tokens_per_second);
  if (report.seconds_left) line += fmt::format("  {} left", format_duration(*report.seconds_left));
  line += fmt::format("  epoch {}  accuracy {:.1f} %  rate {:.2e}", report.epoch, 100 * report.accuracy,
                      report.learning_rate);
  if (report.skipped_steps > 0) line += fmt::format("  {} steps skipped", report.skipped_steps);
  return line;
}

/// Warns once of a training that ends before its learning rate has risen.
void Progress::check_length(const StepReport& report) {
  const std::int64_t warmup = experiment_.train.warmup;
  if (has_checked_length_ || !report.last_step) return;
  has_checked_length_ = true;
  if (*report.last_step >= warmup) return;
  on_warning(0, fmt::format("the training has about {} steps, and its learning rate rises for {}, train.warmup; set a "
                            "smaller train.warmup, or more train.steps or train.epochs",
                            *report.last_step, warmup));
}

void Progress::on_step(const StepReport& report) {
  check_length(report);
  const auto now = std::chrono::steady_clock::now();
  if (!is_live_ || now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  line_is_open_ = true;
  // Return to the start of the line, and clear the rest of a longer line.
  print_output("\r{}\x1b[K", format_line(report).substr(0, terminal_width() - 1));
}

void Progress::on_log(const StepReport& report) {
  if (is_live_) return;
  print_output("{}\n", format_line(report));
}

void Progress::on_validation(std::int64_t step, const Validation& validation, bool is_best) {
  last_validation_ = validation;
  finish_line();
  print_output("step {}: validation {}{}\n", step, format_validation(validation), is_best ? " (best)" : "");
}

void Progress::on_warning(std::int64_t step, const std::string& warning) {
  finish_line();
  print_error("{}warning: {}\n", step > 0 ? fmt::format("step {}: ", step) : "", printable(warning));
}

void Progress::finish_line() {
  if (!line_is_open_) return;
  line_is_open_ = false;
  print_output("\n");
}

}  // namespace edgewise
