// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/hypothesis.h"

#include <algorithm>

#include "edgewise/base/error.h"

namespace edgewise {

std::vector<std::int64_t> alignment(const Hypothesis& hypothesis) {
  const std::size_t rows = hypothesis.tokens.size() + 1;
  check(hypothesis.tokens.empty() || !hypothesis.attention.empty(),
        "alignment: the hypothesis has no attention, needs it; search with options.attention");
  const auto inputs = static_cast<std::ptrdiff_t>(hypothesis.attention.size() / rows);
  std::vector<std::int64_t> aligned;
  for (auto row = hypothesis.attention.begin(); aligned.size() < hypothesis.tokens.size(); row += inputs) {
    aligned.push_back(std::max_element(row, row + inputs) - row);
  }
  return aligned;
}

}  // namespace edgewise
