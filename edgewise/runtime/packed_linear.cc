// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/packed_linear.h"

#include <type_traits>
#include <utility>

namespace edgewise {
namespace {

using kernels::GemmActivation;

const float* or_null(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

template <typename T>
void set_norm(kernels::FinishRows<T>& p, const NormParameters& norm) {
  p.gain = or_null(norm.gain);
  p.norm_bias = or_null(norm.bias);
  p.norm = norm.formula;
}

}  // namespace

template <typename T>
PackedLinear<T>::PackedLinear(const std::vector<float>& weight, std::vector<float> bias, std::int64_t in,
                              std::int64_t out, bool is_bf16)
    : out_(out), bias_(std::move(bias)) {
  if (is_bf16 && std::is_same_v<T, float>) {
    std::vector<float> rounded(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i) rounded[i] = BFloat16(weight[i]);
    weight_.pack({rounded.data(), in, kernels::MatrixLayout::kColumns}, in, out);
  } else {
    weight_.pack({weight.data(), in, kernels::MatrixLayout::kColumns}, in, out);
  }
}

template <typename T>
kernels::RowProduct<T> PackedLinear<T>::product(std::int64_t rows, const Activations<T>& x,
                                                GemmActivation activation) const {
  return {.rows = rows,
          .a = x.values,
          .scales = x.scales,
          .b = &weight_,
          .bias = or_null(bias_),
          .activation = activation,
          .spare_rows = kSpareRows};
}

template <typename T>
void PackedLinear<T>::write(std::int64_t rows, const Activations<T>& x, float* to) const {
  kernels::write_product(product(rows, x, GemmActivation::kNone), to);
}

template <typename T>
void PackedLinear<T>::activate(std::int64_t rows, const Activations<T>& x, GemmActivation activation,
                               const Activations<T>& to) const {
  if constexpr (std::is_same_v<T, float>) {
    kernels::write_product(product(rows, x, activation), to.values);
  } else {
    kernels::finish_product<T>(product(rows, x, activation),
                               {.rows = rows, .columns = out_, .rounded = to.values, .rounded_scale = to.scales});
  }
}

template <typename T>
void PackedLinear<T>::add_and_norm(std::int64_t rows, const Activations<T>& x, float* sum, const NormParameters& norm,
                                   bool norms_sum, const Activations<T>& to) const {
  kernels::FinishRows<T> p = {.rows = rows,
                              .columns = out_,
                              .sum = sum,
                              .out = norms_sum ? sum : nullptr,
                              .rounded = to.values,
                              .rounded_scale = to.scales};
  set_norm(p, norm);
  kernels::finish_product(product(rows, x, GemmActivation::kNone), p);
}

template <typename T>
void PackedLinear<T>::see(const Activations<T>& x, kernels::VocabularyTile tile) const {
  tile.columns = out_;
  kernels::see_product(product(tile.rows, x, GemmActivation::kNone), tile);
}

template <typename T>
void norm_and_round(std::int64_t rows, std::int64_t columns, float* values, const NormParameters& norm,
                    bool norms_values, const Activations<T>& to) {
  kernels::FinishRows<T> p = {.rows = rows,
                              .columns = columns,
                              .values = values,
                              .out = norms_values ? values : nullptr,
                              .rounded = to.values,
                              .rounded_scale = to.scales};
  set_norm(p, norm);
  kernels::finish_rows(p);
}

template class PackedLinear<float>;
template class PackedLinear<BFloat16>;
template class PackedLinear<std::int8_t>;

template void norm_and_round(std::int64_t, std::int64_t, float*, const NormParameters&, bool,
                             const Activations<float>&);
template void norm_and_round(std::int64_t, std::int64_t, float*, const NormParameters&, bool,
                             const Activations<BFloat16>&);
template void norm_and_round(std::int64_t, std::int64_t, float*, const NormParameters&, bool,
                             const Activations<std::int8_t>&);

}  // namespace edgewise
