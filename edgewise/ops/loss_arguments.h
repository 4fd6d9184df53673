// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/ops/loss.h"

// What losses over a vocabulary have in common.
namespace edgewise {

/// Where there is no other word to share with, the label has all.
kernels::SmoothedTarget target_of(const LossOptions& options, std::int64_t num_words);

/// Wants int64 labels on the CPU, one for each of `num_tokens` rows of `rows_name`, below `num_words`; and options that
/// fit.
void check_labels(std::string_view function, const at::Tensor& labels_T, std::string_view rows_name,
                  std::int64_t num_tokens, std::int64_t num_words, const LossOptions& options);

}  // namespace edgewise
