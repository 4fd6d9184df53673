// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/ones.h>

#include "edgewise/ops/dropout.h"
#include "edgewise/ops/embed.h"
#include "edgewise/ops/index_tensor.h"

namespace edgewise {

at::Tensor embed_plain(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                       std::span<const std::int64_t> positions, const EmbedOptions& options) {
  at::Tensor sum_TM = at::embedding(weight_CM, index_tensor(tokens, weight_CM.device())) * options.scale;
  const at::Tensor factor_T1 = at::ones({sum_TM.size(0), 1}, sum_TM.options());
  sum_TM = sum_TM * dropout(factor_T1, options.word_dropout, options.word_dropout_key);
  if (table_PM.defined()) sum_TM = sum_TM + table_PM.index_select(0, index_tensor(positions, weight_CM.device()));
  return dropout(sum_TM, options.dropout, options.dropout_key);
}

}  // namespace edgewise
