// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/doctor/comparison.h"
#include "edgewise/options/precision.h"

namespace edgewise {

/// Decodes the inputs of the fixed model. Requires the same bits for each input alone in one thread and for all inputs
/// together; with fp32 also the output that the model in double has, and with each precision the probability of that
/// output.
Finding test_decoding(RuntimePrecision precision);

}  // namespace edgewise
