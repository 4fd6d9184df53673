// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/task.h"

#include <cmath>

namespace edgewise {
namespace {

/// Above 0 when the left is the greater, 0 where they cannot be compared.
int compare(const std::optional<double>& left, const std::optional<double>& right) {
  if (!left || !right || *left == *right) return 0;
  return *left > *right ? 1 : -1;
}

}  // namespace

bool is_better(const Validation& candidate, const Validation& best) {
  const int by_bleu = compare(candidate.bleu, best.bleu);
  if (by_bleu != 0) return by_bleu > 0;
  const int by_sequences = compare(candidate.sequence_accuracy, best.sequence_accuracy);
  if (by_sequences != 0) return by_sequences > 0;
  return candidate.loss < best.loss || (std::isnan(best.loss) && !std::isnan(candidate.loss));
}

}  // namespace edgewise
