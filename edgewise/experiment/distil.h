// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/experiment/train.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/translate/learn_shortlist.h"
#include "edgewise/translate/model_paths.h"

namespace edgewise {

/// How the output of an input is chosen among the hypotheses of the teachers: by their score, or by chrF against the
/// input's reference.
enum class HypothesisChoice { kScore, kChrf };

inline constexpr auto enum_names(HypothesisChoice) { return names_in_order<HypothesisChoice>("score", "chrf"); }

struct DistilSearchOptions {
  HypothesisChoice best_by = HypothesisChoice::kScore;
  std::int64_t beam = 0;
  std::int64_t n_best = 8;
  RuntimePrecision precision = RuntimePrecision::kFp32;

  static void list_fields(auto& self, auto&& field) {
    field("best_by", self.best_by,
          "how an output is chosen: score, that of the teachers; or chrf, against the sentence of references");
    field("beam", self.beam, "number of hypotheses of the search; 0: as in the first teacher's config",
          at_least(0).at_most(1000));
    field("n_best", self.n_best, "chrf: number of hypotheses to choose from; the beam has at least as many",
          at_least(1).at_most(1000));
    field("precision", self.precision, "number format of the teachers' matrix products: fp32, bf16 or int8");
  }
};

struct DistilFilterOptions {
  double max_ratio = 3.0;
  std::int64_t max_words = 150;
  std::optional<double> min_log_probability;
  bool skip_repeated = true;

  static void list_fields(auto& self, auto&& field) {
    field(
        "max_ratio", self.max_ratio,
        "largest ratio of the words of both sides, each counted with three more, so that short pairs stay; 0: no limit",
        at_least(0).at_most(1e6));
    field("max_words", self.max_words, "most words of a side; 0: no limit", at_least(0).at_most(1e6));
    field("min_log_probability", self.min_log_probability,
          "least mean log-probability of the tokens of an output; none: no limit", at_least(-1000).at_most(0));
    field("skip_repeated", self.skip_repeated, "whether pairs that are in the corpus already are left out");
  }
};

struct DistilShortlistOptions : LearnShortlistOptions {
  bool learn = true;

  static void list_fields(auto& self, auto&& field) {
    field("learn", self.learn, "whether the student gets a lexical shortlist that is learned from the pairs");
    LearnShortlistOptions::list_fields(self, field);
  }
};

/// Quantisation-aware training that follows the student's training: a tenth of the steps is a warm-up, and the learning
/// rate is constant afterwards.
struct DistilTuningOptions {
  std::int64_t steps = 0;
  double learning_rate = 0.0001;

  static void list_fields(auto& self, auto&& field) {
    field("steps", self.steps, "updates with train.quantise=int8 that follow the student's training; 0: none",
          range_of<TrainOptions>("steps"));
    field("learning_rate", self.learning_rate, "learning rate of these updates, constant after a warm-up",
          range_of<TrainOptions>("learning_rate"));
  }
};

/// A config of `edgewise distil`. Relative paths begin at its folder; a teacher may be the name of a model, too.
struct DistilOptions {
  std::vector<std::string> teachers;
  std::vector<std::string> inputs;
  std::vector<std::string> references;
  std::string student;
  DistilSearchOptions search;
  DistilFilterOptions filter;
  std::int64_t alignment_iterations = 5;
  DistilTuningOptions tuning;
  DistilShortlistOptions shortlist;
  bool quantise = true;

  static void list_fields(auto& self, auto&& field) {
    field("teachers", self.teachers, "model or run directories, or names of models; several are an ensemble");
    field("inputs", self.inputs, "files of sentences to translate, one on each line, plain or compressed");
    field("references", self.references, "translations of the lines of inputs, a file for each, for best_by = chrf");
    field("student", self.student, "config of the student's training, without data.train and data.alignments");
    field("search", self.search, "how the teachers translate");
    field("filter", self.filter, "which pairs the student does not learn");
    field("alignment_iterations", self.alignment_iterations,
          "steps of Model 1 that aligns the words, if the student has train.guided_alignment",
          at_least(1).at_most(100));
    field("tuning", self.tuning, "training for products in 8 bits, after the student's training");
    field("shortlist", self.shortlist, "lexical shortlist of the student");
    field("quantise", self.quantise, "whether the matrices of the student are stored in 8 bits");
  }
};

/// Counts of the pairs that the teachers made, and of those that were left out, by reason.
struct DistilledPairs {
  std::int64_t kept = 0;
  std::int64_t empty = 0;
  std::int64_t uneven = 0;
  std::int64_t too_long = 0;
  std::int64_t unlikely = 0;
  std::int64_t repeated = 0;

  /// Returns "2 pairs with an empty side, 1 that …"; empty if nothing was left out.
  std::string describe_skipped() const;
};

/// Receives the events of distil().
class DistilObserver {
 public:
  virtual ~DistilObserver() = default;

  /// Called before a step, whose folder has its result already if `is_done`.
  virtual void on_step(std::string_view /*step*/, bool /*is_done*/) {}
  /// Called for each translated line with the number of lines so far.
  virtual void on_translation(std::int64_t /*lines*/) {}
  virtual void on_pairs(const DistilledPairs&) {}
  /// Returns the observer of the student's training; both arguments outlive it.
  virtual std::unique_ptr<RunObserver> observe_training(const Experiment& /*student*/) {
    return std::make_unique<RunObserver>();
  }
};

/// Makes a student of translation models (Kim and Rush 2016, "Sequence-Level Knowledge Distillation"): the teachers
/// translate a corpus, unsuitable pairs are left out, the words of the others are linked if the student's training has
/// guided alignment, the student learns the pairs, is tuned for products in 8 bits, and gets a shortlist and 8-bit
/// matrices. Each step has a folder in `out`:
///
///     1-translations/translations.tsv   input, output and mean log-probability of the output's tokens
///     2-pairs/inputs, outputs           what the student learns
///     3-links/links                     their words' links
///     4-student/run/                    the run of the student's training
///     5-tuned/run/                      the run of its quantisation-aware training
///     6-model/model/, card.md           the student, and what is known about it
///
/// A folder also has the hash of all that its step depends on, and a record when the step is done. A step that is done
/// is skipped; translating and training go on where they were. `folder` is that of the config. Throws Error for options
/// that do not fit and for an `out` with a model before anything is written, for a step that was made from other
/// inputs, unless Overwrite::kYes replaces it, and while another process works in `out`; StopException after
/// requests.stop, when all is saved.
void distil(const DistilOptions& options, const std::filesystem::path& folder, const std::filesystem::path& out,
            DistilObserver& observer, RunRequests& requests, Overwrite overwrite = Overwrite::kNo);

}  // namespace edgewise
