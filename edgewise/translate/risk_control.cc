// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/risk_control.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace edgewise {
namespace {

double x_log_ratio(double x, double y) { return x == 0 ? 0.0 : x * std::log(x / y); }

/// Returns P(Binomial(count, probability) <= most), summed from the smallest number on.
double binomial_tail(std::int64_t most, std::int64_t count, double probability) {
  const auto n = static_cast<double>(count);
  double log_term = n * std::log1p(-probability);
  double sum = 0;
  for (std::int64_t k = 0; k <= std::min(most, count); ++k) {
    sum += std::exp(log_term);
    const auto next = static_cast<double>(k + 1);
    log_term += std::log((n - static_cast<double>(k)) / next) + std::log(probability) - std::log1p(-probability);
  }
  return std::min(sum, 1.0);
}

}  // namespace

double hoeffding_bentkus_p_value(double mean_loss, double limit, std::int64_t count) {
  const auto n = static_cast<double>(count);
  const double loss = std::min(mean_loss, limit);
  const double hoeffding = std::exp(-n * (x_log_ratio(loss, limit) + x_log_ratio(1 - loss, 1 - limit)));
  // A sum of losses that is a whole number may be rounded to slightly more.
  const auto most = static_cast<std::int64_t>(std::ceil(n * mean_loss - 1e-9));
  return std::min({hoeffding, std::numbers::e * binomial_tail(most, count, limit), 1.0});
}

}  // namespace edgewise
