// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/risk_control.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"

namespace edgewise {

double betting_p_value(std::span<const double> losses, double limit, double level) {
  const double largest_bet = 0.75 / (1 - limit);
  const double variance_of_bet_one = 2 * std::log(1 / level) / static_cast<double>(losses.size());
  double count = 0;
  double sum = 0;
  double squares = 0.25;
  double log_capital = 0;
  double largest_log_capital = 0;
  for (const double loss : losses) {
    check(loss >= -1 && loss <= 1, "betting_p_value: losses has {}, needs numbers from -1 to 1", loss);
    const double variance = squares / (count + 1);
    const double bet = std::min(std::sqrt(variance_of_bet_one / variance), largest_bet);
    log_capital += std::log1p(bet * (limit - loss));
    largest_log_capital = std::max(largest_log_capital, log_capital);
    count += 1;
    sum += loss;
    const double distance = loss - sum / (count + 1);
    squares += distance * distance;
  }
  return std::exp(-largest_log_capital);
}

}  // namespace edgewise
