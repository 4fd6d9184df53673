// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace edgewise {

/// Returns a p-value of the hypothesis that the expectation of independent losses in [-1, 1] of one distribution is
/// above `limit`: 1 / max(1, K_1, …, K_n), where K_i is the capital of a player who begins with 1 and bets against the
/// hypothesis (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting"; Bates et al.
/// 2021 control risks so):
///
///     K_i = (1 + b_1 (limit - loss_1)) … (1 + b_i (limit - loss_i))
///     b_i = min(sqrt(2 log(1 / level) / (n v_i)), 0.75 / (1 - limit))
///     v_i = (1/4 + (loss_1 - m_1)² + … + (loss_(i-1) - m_(i-1))²) / i,  m_j = (loss_1 + … + loss_j) / (j + 1)
///
/// If the hypothesis is true, K is a supermartingale, so that p is at most q with a probability of at most q. The bets
/// are the best ones for the test at `level`. Few losses other than zero, or small ones, need fewer losses for the
/// same p-value than the bounds that regard each loss as -1 or 1.
///
/// `limit` is in [0, 1) and `level` in (0, 1). Throws Error for a loss outside [-1, 1]. O(n).
double betting_p_value(std::span<const double> losses, double limit, double level);

}  // namespace edgewise
