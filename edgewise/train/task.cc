// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/task.h"

#include <cmath>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Returns 1 when `left` is greater, -1 when `right` is greater, 0 when they are equal or one is unset.
int compare(const std::optional<double>& left, const std::optional<double>& right) {
  if (!left || !right || *left == *right) return 0;
  return *left > *right ? 1 : -1;
}

int compare_by(BestMetric by, const Validation& left, const Validation& right) {
  switch (by) {
    case BestMetric::kAuto: {
      const int by_bleu = compare(left.bleu, right.bleu);
      return by_bleu != 0 ? by_bleu : compare(left.sequence_accuracy, right.sequence_accuracy);
    }
    case BestMetric::kBleu:
      return compare(left.bleu, right.bleu);
    case BestMetric::kSequences:
      return compare(left.sequence_accuracy, right.sequence_accuracy);
    case BestMetric::kAccuracy:
      return compare(left.accuracy, right.accuracy);
    case BestMetric::kLoss:
      return 0;
  }
  fail("is_better: by is {}, needs one that enum_names lists", static_cast<int>(by));
}

}  // namespace

void require_measured(const Validation& validation, BestMetric by) {
  const bool is_missing =
      (by == BestMetric::kBleu && !validation.bleu) || (by == BestMetric::kSequences && !validation.sequence_accuracy);
  check(!is_missing, "train: best_by is {}, which this validation does not measure; set train.best_by=auto",
        enum_name(by));
}

bool is_better(const Validation& candidate, const Validation& best, BestMetric by) {
  const int by_choice = compare_by(by, candidate, best);
  if (by_choice != 0) return by_choice > 0;
  return candidate.loss < best.loss || (std::isnan(best.loss) && !std::isnan(candidate.loss));
}

}  // namespace edgewise
