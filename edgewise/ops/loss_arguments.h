// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/ops/loss.h"

// Arguments that the losses over a vocabulary share.
namespace edgewise {

/// Returns the target distribution of label smoothing over a vocabulary; a label without other tokens gets
/// probability 1.
kernels::SmoothedTarget target_of(const LossOptions& options, std::int64_t vocabulary_size);

/// Throws Error unless the labels are int64, as many as `num_tokens`, all in [0, vocabulary_size), and the options fit.
/// Does not read labels that are on another device than the CPU. The message begins with `function`; `rows_name` names
/// the tensor whose rows have the labels.
void check_labels(std::string_view function, const at::Tensor& labels_T, std::string_view rows_name,
                  std::int64_t num_tokens, std::int64_t vocabulary_size, const LossOptions& options);

}  // namespace edgewise
