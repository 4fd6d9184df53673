// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/embed.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/gradients_in_place.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

/// Skips rows that are `none`, if the table has any row.
void check_row_numbers(std::string_view name, std::span<const std::int64_t> rows, const at::Tensor& table,
                       std::optional<std::int64_t> none = std::nullopt) {
  const std::int64_t last = table.size(0) - 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == none && last >= 0) continue;
    check(rows[i] >= 0 && rows[i] <= last, "embed: {} {} is {}, needs a number from 0 to {}", name, i, rows[i], last);
  }
}

void check_arguments(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                     std::span<const std::int64_t> positions, const EmbedOptions& options) {
  check_float_or_double("embed", "weight", weight_CM);
  check_dimensions("embed", "weight", weight_CM, 2, "words, features");
  check_row_numbers("token", tokens, weight_CM, kNoToken);
  check_dropout_rate("embed", "dropout", options.dropout);
  check_dropout_rate("embed", "word_dropout", options.word_dropout);
  const std::size_t needed = table_PM.defined() ? tokens.size() : 0;
  check(positions.size() == needed, "embed: positions are {}, needs {}: {}", positions.size(), needed,
        table_PM.defined() ? "one for each token" : "there is no table");
  if (!table_PM.defined()) return;
  check_float_or_double("embed", "table", table_PM);
  check_same_type("embed", "table", table_PM, "weight", weight_CM);
  check_dimensions("embed", "table", table_PM, 2, "positions, features");
  check(table_PM.size(1) == weight_CM.size(1), "embed: table has {} features but weight has {}, needs as many",
        table_PM.size(1), weight_CM.size(1));
  check_row_numbers("position", positions, table_PM);
}

struct Lookup {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> positions;
  EmbedOptions options;

  kernels::Dropout dropout() const { return dropout_rule(options.dropout, options.dropout_key); }
  kernels::Dropout word_dropout() const { return dropout_rule(options.word_dropout, options.word_dropout_key); }
};

/// Groups equal tokens on the host, which has their numbers, so that nothing waits for the device.
void differentiate_on_gpu(const kernels::EmbedBackward<float>& p, std::span<const std::int64_t> rows,
                          const at::Tensor& grad_out_TM, device::Stream stream) {
  const kernels::TokenGroups groups = kernels::group_tokens(rows);
  const KernelRows<std::int64_t> group_rows(groups.rows, grad_out_TM);
  const KernelRows<std::int32_t> begin(groups.begin, grad_out_TM);
  const KernelRows<std::int32_t> tokens(groups.tokens, grad_out_TM);
  const kernels::TokenGroupsView view = {group_rows.data(), begin.data(), tokens.data(), std::ssize(groups.rows)};
  kernels::embed_backward(p, view, stream);
}

/// Inputs: weight_CM, table_PM.
class Embed : public Operation {
 public:
  explicit Embed(Lookup lookup) : lookup_(std::move(lookup)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("embedding");
    const at::Tensor weight = aligned_contiguous(inputs[0]);
    const at::Tensor table = aligned_contiguous(inputs[1]);
    const KernelRows<std::int64_t> tokens(lookup_.tokens, weight);
    const KernelRows<std::int64_t> positions(lookup_.positions, weight);
    const auto num_tokens = static_cast<std::int64_t>(lookup_.tokens.size());
    at::Tensor out_TM = at::empty({num_tokens, weight.size(1)}, weight.options());
    with_float_or_double(weight, [&](auto zero) {
      using T = decltype(zero);
      const kernels::EmbedForward<T> arguments = {.weight = weight.const_data_ptr<T>(),
                                                  .tokens = tokens.data(),
                                                  .position_table = data_or_null<T>(table),
                                                  .positions = positions.data(),
                                                  .out = out_TM.data_ptr<T>(),
                                                  .num_tokens = num_tokens,
                                                  .size = weight.size(1),
                                                  .scale = static_cast<T>(lookup_.options.scale),
                                                  .dropout = lookup_.dropout(),
                                                  .word_dropout = lookup_.word_dropout()};
      call_kernel<T>(weight, [&](auto... stream) { kernels::embed_forward(arguments, stream...); });
    });
    saved = inputs;
    return {out_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("embedding");
    check_differentiated_once("embed");
    const at::Tensor grad_out_TM = aligned_contiguous(pass.grad_outputs[0]);
    Tensors gradients(2);
    if (pass.needs_gradient[0]) {
      gradients[0] =
          add_rows(grad_out_TM, lookup_.tokens, pass.saved[0], lookup_.options.scale, lookup_.word_dropout());
    }
    // Positions have neither a scale nor word dropout.
    if (pass.needs_gradient[1]) gradients[1] = add_rows(grad_out_TM, lookup_.positions, pass.saved[1], 1.0, {});
    return gradients;
  }

 private:
  /// Returns the gradient of a table whose `rows`, times `scale`, the forward pass has added to the sums.
  at::Tensor add_rows(const at::Tensor& grad_out_TM, const std::vector<std::int64_t>& rows, const at::Tensor& table,
                      double scale, const kernels::Dropout& row_dropout) const {
    const GradientBuffer gradient = zeroed_gradient_buffer(table);
    with_float_or_double(grad_out_TM, [&](auto zero) {
      using T = decltype(zero);
      const kernels::EmbedBackward<T> arguments = {.tokens = rows.data(),
                                                   .grad_out = grad_out_TM.const_data_ptr<T>(),
                                                   .grad_weight = gradient.memory.data_ptr<T>(),
                                                   .num_tokens = grad_out_TM.size(0),
                                                   .size = grad_out_TM.size(1),
                                                   .scale = static_cast<T>(scale),
                                                   .dropout = lookup_.dropout(),
                                                   .word_dropout = row_dropout};
      call_kernel<T>(
          grad_out_TM, [&] { kernels::embed_backward(arguments); },
          [&](auto stream) { differentiate_on_gpu(arguments, rows, grad_out_TM, stream); });
    });
    return gradient.gradient_for_autograd();
  }

  Lookup lookup_;
};

}  // namespace

at::Tensor embed(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                 std::span<const std::int64_t> positions, const EmbedOptions& options) {
  check_arguments(weight_CM, tokens, table_PM, positions, options);
  if (backend_of(weight_CM) == Backend::kDefinition) {
    return embed_plain(weight_CM, tokens, table_PM, positions, options);
  }
  return apply_one<Embed>({weight_CM, table_PM},
                          Lookup{{tokens.begin(), tokens.end()}, {positions.begin(), positions.end()}, options});
}

at::Tensor embed_plain(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                       std::span<const std::int64_t> positions, const EmbedOptions& options) {
  const at::Tensor tokens_T = index_tensor(tokens, weight_CM.device());
  at::Tensor sum_TM = at::embedding(weight_CM, tokens_T.clamp_min(0)) * options.scale;
  const at::Tensor factor_T1 = at::ones({sum_TM.size(0), 1}, sum_TM.options());
  sum_TM = sum_TM * dropout(factor_T1, options.word_dropout, options.word_dropout_key);
  sum_TM = sum_TM.masked_fill((tokens_T == kNoToken).unsqueeze(1), 0);
  if (table_PM.defined()) sum_TM = sum_TM + table_PM.index_select(0, index_tensor(positions, weight_CM.device()));
  return dropout(sum_TM, options.dropout, options.dropout_key);
}

}  // namespace edgewise
