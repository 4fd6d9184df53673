// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Returns an upper bound for the probability that the mean of `count` independent losses in [0, 1] is at most
/// `mean_loss` if the expected loss is above `limit`: the p-value of Hoeffding and Bentkus (Bates et al. 2021,
/// "Distribution-Free, Risk-Controlling Prediction Sets", section 3.1), with R = mean_loss, d = limit, n = count:
///
///     min(exp(-n (R' log(R' / d) + (1 - R') log((1 - R') / (1 - d)))), e P(Binomial(n, d) <= ceil(n R))),  R' = min(R,
///     d)
///
/// `mean_loss` is in [0, 1], `limit` in (0, 1), and `count` at least 1. O(n R).
double hoeffding_bentkus_p_value(double mean_loss, double limit, std::int64_t count);

}  // namespace edgewise
