// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/task.h"

#include <cmath>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Above 0 when the left is the greater, 0 where they cannot be compared.
int compare(const std::optional<double>& left, const std::optional<double>& right) {
  if (!left || !right || *left == *right) return 0;
  return *left > *right ? 1 : -1;
}

int compare_by(BestBy by, const Validation& left, const Validation& right) {
  switch (by) {
    case BestBy::kAuto: {
      const int by_bleu = compare(left.bleu, right.bleu);
      return by_bleu != 0 ? by_bleu : compare(left.sequence_accuracy, right.sequence_accuracy);
    }
    case BestBy::kBleu:
      return compare(left.bleu, right.bleu);
    case BestBy::kSequences:
      return compare(left.sequence_accuracy, right.sequence_accuracy);
    case BestBy::kAccuracy:
      return compare(left.accuracy, right.accuracy);
    case BestBy::kLoss:
      return 0;
  }
  fail("is_better: by is {}, needs one that enum_names lists", static_cast<int>(by));
}

bool is_measured(BestBy by, const Validation& validation) {
  if (by == BestBy::kBleu) return validation.bleu.has_value();
  return by != BestBy::kSequences || validation.sequence_accuracy.has_value();
}

}  // namespace

void require_measured(const Validation& validation, BestBy by) {
  check(is_measured(by, validation),
        "train: best_by is {}, which this validation does not measure; set train.best_by=auto", enum_name(by));
}

bool is_better(const Validation& candidate, const Validation& best, BestBy by) {
  const int by_choice = compare_by(by, candidate, best);
  if (by_choice != 0) return by_choice > 0;
  return candidate.loss < best.loss || (std::isnan(best.loss) && !std::isnan(candidate.loss));
}

}  // namespace edgewise
