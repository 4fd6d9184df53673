// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "edgewise/apps/train_signals.h"
#include "edgewise/experiment/train.h"

namespace edgewise {

/// Prints the progress of training on standard output: on a terminal one line that is redrawn and never wider than the
/// terminal, otherwise a line for each line of metrics. Warnings go to standard error. Installs the signal handlers
/// when training starts.
class Progress : public RunObserver {
 public:
  /// Both arguments must outlive the object.
  Progress(const Experiment& experiment, TrainSignals& signals);
  ~Progress() override;

  void on_restore(const std::string& damage) override;
  void on_device(at::Device device) override;
  void on_corpus(const Corpus& corpus) override;
  void on_encode(const EncodeReport& report) override;
  void on_data(std::int64_t training_pairs, const Corpus& corpus, const Vocabularies& vocabularies) override;
  void on_texts(const TextCorpus& corpus) override;
  void on_text_data(std::optional<std::int64_t> training_tokens, const TextCorpus& corpus,
                    const Vocabularies& vocabularies) override;
  void on_model(const SequenceModel& model) override;
  void on_parameters(const std::string& file) override;
  void on_start() override;
  void on_step(const StepReport& report) override;
  void on_log(const StepReport& report) override;
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override;
  void on_warning(std::int64_t step, const std::string& warning) override;

  /// Ends the redrawn line, so that other text can follow.
  void finish_line();

 private:
  std::string format_line(const StepReport& report) const;
  void check_length(const StepReport& report);

  const Experiment& experiment_;
  TrainSignals& signals_;
  bool is_live_;
  bool line_is_open_ = false;
  bool has_checked_length_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
  Validation last_validation_;  // empty before the first validation
};

/// Formats a validation: "loss 1.83, accuracy 64.2 %, BLEU 31.4", or for a language model "loss 1.470, accuracy 56.1 %,
/// perplexity 4.35, 2.121 bits per character".
std::string format_validation(const Validation& validation);

/// Prints how many lines of the training text are not UTF-8, and the places of the first.
void print_text_report(const TextCorpus& corpus);

/// Prints how many training pairs were left out and repaired, and the places of the first pairs left out.
void print_corpus_report(const Corpus& corpus);

}  // namespace edgewise
