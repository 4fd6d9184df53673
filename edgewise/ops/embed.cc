// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/embed.h"

#include <ATen/ops/empty.h>

#include <string_view>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/definition.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/gradients_in_place.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

void check_rows(std::string_view name, std::span<const std::int64_t> rows, const at::Tensor& table) {
  const std::int64_t last = table.size(0) - 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check(rows[i] >= 0 && rows[i] <= last, "embed: {} {} is {}, needs a number from 0 to {}", name, i, rows[i], last);
  }
}

void check_arguments(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                     std::span<const std::int64_t> positions, const EmbedOptions& options) {
  check_float_or_double("embed", "weight", weight_CM);
  check_dimensions("embed", "weight", weight_CM, 2, "words, features");
  check_rows("token", tokens, weight_CM);
  check_dropout_rate("embed", "dropout", options.dropout);
  check_dropout_rate("embed", "word_dropout", options.word_dropout);
  const std::size_t needed = table_PM.defined() ? tokens.size() : 0;
  check(positions.size() == needed, "embed: positions are {}, but {} are needed: {}", positions.size(), needed,
        table_PM.defined() ? "one for each token" : "there is no table");
  if (!table_PM.defined()) return;
  check_float_or_double("embed", "table", table_PM);
  check_same_type("embed", "table", table_PM, "weight", weight_CM);
  check_dimensions("embed", "table", table_PM, 2, "positions, features");
  check(table_PM.size(1) == weight_CM.size(1), "embed: table has {} features but weight has {}; they must be equal",
        table_PM.size(1), weight_CM.size(1));
  check_rows("position", positions, table_PM);
}

struct Lookup {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> positions;
  EmbedOptions options;

  kernels::Dropout dropout() const { return dropout_rule(options.dropout, options.dropout_key); }
  kernels::Dropout word_dropout() const { return dropout_rule(options.word_dropout, options.word_dropout_key); }
};

// Inputs: weight_CM, table_PM.
class Embed : public Operation {
 public:
  explicit Embed(Lookup lookup) : lookup_(std::move(lookup)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("embedding");
    const at::Tensor weight = inputs[0].contiguous();
    const at::Tensor table = inputs[1].defined() ? inputs[1].contiguous() : at::Tensor();
    const auto num_tokens = static_cast<std::int64_t>(lookup_.tokens.size());
    at::Tensor out_TM = at::empty({num_tokens, weight.size(1)}, weight.options());
    with_float_or_double(weight, [&](auto zero) {
      using T = decltype(zero);
      kernels::embed_forward(kernels::EmbedForward<T>{.weight = weight.const_data_ptr<T>(),
                                                      .tokens = lookup_.tokens.data(),
                                                      .position_table = data_or_null<T>(table),
                                                      .positions = lookup_.positions.data(),
                                                      .out = out_TM.data_ptr<T>(),
                                                      .num_tokens = num_tokens,
                                                      .size = weight.size(1),
                                                      .scale = static_cast<T>(lookup_.options.scale),
                                                      .dropout = lookup_.dropout(),
                                                      .word_dropout = lookup_.word_dropout()});
    });
    saved = inputs;
    return {out_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("embedding");
    check_differentiated_once("embed");
    const at::Tensor grad_out_TM = pass.grad_outputs[0].contiguous();
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
  /// Returns the gradient of a table of which the forward pass has added `rows`, times `scale`, to the sums.
  at::Tensor add_rows(const at::Tensor& grad_out_TM, const std::vector<std::int64_t>& rows, const at::Tensor& table,
                      double scale, const kernels::Dropout& row_dropout) const {
    const GradientBuffer gradient = zeroed_gradient_buffer(table);
    with_float_or_double(grad_out_TM, [&](auto zero) {
      using T = decltype(zero);
      kernels::embed_backward(kernels::EmbedBackward<T>{.tokens = rows.data(),
                                                        .grad_out = grad_out_TM.const_data_ptr<T>(),
                                                        .grad_weight = gradient.memory.data_ptr<T>(),
                                                        .num_tokens = grad_out_TM.size(0),
                                                        .size = grad_out_TM.size(1),
                                                        .scale = static_cast<T>(scale),
                                                        .dropout = lookup_.dropout(),
                                                        .word_dropout = row_dropout});
    });
    return gradient.gradient_for_autograd();
  }

  Lookup lookup_;
};

}  // namespace

at::Tensor embed(const at::Tensor& weight_CM, std::span<const std::int64_t> tokens, const at::Tensor& table_PM,
                 std::span<const std::int64_t> positions, const EmbedOptions& options) {
  check_arguments(weight_CM, tokens, table_PM, positions, options);
  if (uses_definition(weight_CM)) return embed_plain(weight_CM, tokens, table_PM, positions, options);
  return apply_one<Embed>({weight_CM, table_PM},
                          Lookup{{tokens.begin(), tokens.end()}, {positions.begin(), positions.end()}, options});
}

}  // namespace edgewise
