// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/loss_arguments.h"

#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"

namespace edgewise {
namespace {

double x_log_x(double x) { return x == 0.0 ? 0.0 : x * std::log(x); }

}  // namespace

kernels::SmoothedTarget target_of(const LossOptions& options, std::int64_t vocabulary_size) {
  const std::int64_t others = vocabulary_size - 1 - (options.ignored >= 0 ? 1 : 0);
  if (others <= 0) return {1.0, 0.0, 0.0, options.ignored};
  const double share = options.smoothing / static_cast<double>(others);
  return {1.0 - options.smoothing, share,
          x_log_x(1.0 - options.smoothing) + static_cast<double>(others) * x_log_x(share), options.ignored};
}

void check_labels(std::string_view function, const at::Tensor& labels_T, std::string_view rows_name,
                  std::int64_t num_tokens, std::int64_t vocabulary_size, const LossOptions& options) {
  check_dimensions(function, "labels", labels_T, 1, "tokens");
  check(labels_T.scalar_type() == at::kLong, "{}: labels have type {}, needs Long", function,
        at::toString(labels_T.scalar_type()));
  check(labels_T.size(0) == num_tokens, "{}: labels are {} but {} have {} rows, needs one label per row", function,
        labels_T.size(0), rows_name, num_tokens);

  check(vocabulary_size > 0, "{}: {} are of 0 words, needs at least one", function, rows_name);
  check(options.smoothing >= 0.0 && options.smoothing <= 1.0, "{}: smoothing is {}, needs 0 to 1", function,
        options.smoothing);
  check(options.ignored < vocabulary_size, "{}: ignored is {}, but {} have {} words, needs a word's number or -1",
        function, options.ignored, rows_name, vocabulary_size);
  if (labels_T.size(0) == 0 || !labels_T.is_cpu()) return;  // reading from a device would wait for it
  for (const std::int64_t label : {labels_T.min().item<std::int64_t>(), labels_T.max().item<std::int64_t>()}) {
    check(label >= 0 && label < vocabulary_size, "{}: labels hold {}, but {} have {} words, needs 0 to {}", function,
          label, rows_name, vocabulary_size, vocabulary_size - 1);
  }
}

}  // namespace edgewise
