// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/packed_linear.h"

#include <algorithm>
#include <utility>

namespace edgewise {
namespace {

using kernels::GemmActivation;

const float* or_null(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

template <typename T>
void set_norm(kernels::RowEpilogue<T>& epilogue, const NormParameters& norm) {
  epilogue.gain = or_null(norm.gain);
  epilogue.norm_bias = or_null(norm.bias);
  epilogue.norm = norm.formula;
}

/// Returns the epilogue that adds values to `sum`, and writes the norm of the sums.
template <typename T>
kernels::RowEpilogue<T> make_sum_epilogue(std::int64_t rows, std::int64_t columns, float* sum,
                                          const NormParameters& norm, bool norms_sum, const Activations<T>& out) {
  kernels::RowEpilogue<T> epilogue = {.rows = rows,
                                      .columns = columns,
                                      .residual = sum,
                                      .out = norms_sum ? sum : nullptr,
                                      .rounded = out.values,
                                      .rounded_scale = out.scales};
  set_norm(epilogue, norm);
  return epilogue;
}

}  // namespace

template <typename T>
PackedLinear<T>::PackedLinear(const WeightRows& weight, std::vector<float> bias, bool is_bf16)
    : out_(weight.count), bias_(std::move(bias)) {
  pack(weight, is_bf16);
}

template <typename T>
void PackedLinear<T>::pack(const WeightRows& weight, bool is_bf16) {
  const auto& [matrix, first, count] = weight;
  const std::int64_t in = matrix->columns();
  if constexpr (kIsInt8<T>) input_multiplier_ = matrix->input_multiplier();
  using Stored = std::conditional_t<kIsInt8<T>, std::int8_t, BFloat16>;
  if (const Stored* stored = matrix->row<Stored>(first); stored != nullptr) {
    const std::span<const float> scales =
        kIsInt8<T> ? matrix->scales().subspan(first, count) : std::span<const float>();
    return weight_.pack_exactly(kernels::Matrix<Stored>{stored, in, kernels::MatrixLayout::kColumns}, in, count,
                                scales);
  }
  const float* floats = is_bf16 ? nullptr : matrix->row<float>(first);
  std::vector<float> converted;
  if (floats == nullptr) {
    converted = matrix->to_floats(first, count);
    if (is_bf16) std::ranges::transform(converted, converted.begin(), [](float value) { return BFloat16(value); });
    floats = converted.data();
  }
  weight_.pack(kernels::Matrix<float>{floats, in, kernels::MatrixLayout::kColumns}, in, count);
}

template <typename T>
PackedLinear<T> PackedLinear<T>::make_like(const PackedLinear& other, std::int64_t out) {
  PackedLinear linear;
  linear.out_ = out;
  linear.input_multiplier_ = other.input_multiplier_;
  linear.weight_.allocate_like(other.weight_, out);
  if (!other.bias_.empty()) linear.bias_.resize(static_cast<std::size_t>(out));
  return linear;
}

template <typename T>
void PackedLinear<T>::copy_result(std::int64_t to, const PackedLinear& other, std::int64_t from) {
  weight_.copy_column(to, other.weight_, from);
  if (!bias_.empty()) bias_[static_cast<std::size_t>(to)] = other.bias_[static_cast<std::size_t>(from)];
}

template <typename T>
kernels::RowProduct<T> PackedLinear<T>::product(std::int64_t rows, const Activations<T>& x,
                                                GemmActivation activation) const {
  return {
      .rows = rows, .a = x.values, .scales = x.scales, .b = &weight_, .bias = or_null(bias_), .activation = activation};
}

template <typename T>
void PackedLinear<T>::write(std::int64_t rows, const Activations<T>& x, float* out) const {
  kernels::multiply_rows(product(rows, x, GemmActivation::kNone), out);
}

template <typename T>
void PackedLinear<T>::write_all(std::span<const PackedLinear> layers, std::int64_t rows, const Activations<T>& x,
                                float* out) {
  std::vector<kernels::RowProduct<T>> products;
  for (const PackedLinear& layer : layers) products.push_back(layer.product(rows, x, GemmActivation::kNone));
  kernels::multiply_all<T>(products, out);
}

template <typename T>
bool PackedLinear<T>::splits_rows(std::int64_t rows, const Activations<T>& x) const {
  return kernels::splits_rows(product(rows, x, GemmActivation::kNone));
}

template <typename T>
void PackedLinear<T>::activate(std::int64_t rows, const Activations<T>& x, GemmActivation activation,
                               [[maybe_unused]] const PackedLinear& next, const Activations<T>& out) const {
  if constexpr (std::is_same_v<T, float>) {
    kernels::multiply_rows(product(rows, x, activation), out.values);
  } else {
    kernels::multiply_with_epilogue<T>(product(rows, x, activation), {.rows = rows,
                                                                      .columns = out_,
                                                                      .rounded = out.values,
                                                                      .rounded_scale = out.scales,
                                                                      .multiplier = next.input_multiplier_});
  }
}

template <typename T>
void PackedLinear<T>::gate(std::int64_t rows, const Activations<T>& x, GemmActivation activation,
                           const PackedLinear& next, const Activations<T>& out) const {
  kernels::multiply_with_epilogue<T>(product(rows, x, GemmActivation::kNone), {.rows = rows,
                                                                               .columns = out_ / 2,
                                                                               .gate = activation,
                                                                               .rounded = out.values,
                                                                               .rounded_scale = out.scales,
                                                                               .multiplier = next.input_multiplier_});
}

template <typename T>
void PackedLinear<T>::add_and_norm(std::int64_t rows, const Activations<T>& x, float* sum, const NormParameters& norm,
                                   bool norms_sum, const Activations<T>& out) const {
  kernels::multiply_with_epilogue(product(rows, x, GemmActivation::kNone),
                                  make_sum_epilogue(rows, out_, sum, norm, norms_sum, out));
}

template <typename T>
void PackedLinear<T>::reduce_tile(const Activations<T>& x, kernels::LogitsTile tile) const {
  tile.columns = out_;
  kernels::multiply_and_reduce(product(tile.rows, x, GemmActivation::kNone), tile);
}

template <typename T>
void convert_operand(std::int64_t rows, std::int64_t columns, const float* values, float multiplier,
                     const Activations<T>& out) {
  kernels::apply_epilogue(kernels::RowEpilogue<T>{.rows = rows,
                                                  .columns = columns,
                                                  .values = values,
                                                  .rounded = out.values,
                                                  .rounded_scale = out.scales,
                                                  .multiplier = multiplier});
}

template <typename T>
void norm_and_round(std::int64_t rows, std::int64_t columns, float* values, const NormParameters& norm,
                    bool norms_values, const Activations<T>& out) {
  kernels::RowEpilogue<T> epilogue = {.rows = rows,
                                      .columns = columns,
                                      .values = values,
                                      .out = norms_values ? values : nullptr,
                                      .rounded = out.values,
                                      .rounded_scale = out.scales};
  set_norm(epilogue, norm);
  kernels::apply_epilogue(epilogue);
}

template <typename T>
void add_and_norm(std::int64_t rows, std::int64_t columns, const float* values, float* sum, const NormParameters& norm,
                  bool norms_sum, const Activations<T>& out) {
  kernels::RowEpilogue<T> epilogue = make_sum_epilogue(rows, columns, sum, norm, norms_sum, out);
  epilogue.values = values;
  kernels::apply_epilogue(epilogue);
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

template void add_and_norm(std::int64_t, std::int64_t, const float*, float*, const NormParameters&, bool,
                           const Activations<float>&);
template void add_and_norm(std::int64_t, std::int64_t, const float*, float*, const NormParameters&, bool,
                           const Activations<BFloat16>&);
template void add_and_norm(std::int64_t, std::int64_t, const float*, float*, const NormParameters&, bool,
                           const Activations<std::int8_t>&);

template void convert_operand(std::int64_t, std::int64_t, const float*, float, const Activations<float>&);
template void convert_operand(std::int64_t, std::int64_t, const float*, float, const Activations<BFloat16>&);
template void convert_operand(std::int64_t, std::int64_t, const float*, float, const Activations<std::int8_t>&);

}  // namespace edgewise
