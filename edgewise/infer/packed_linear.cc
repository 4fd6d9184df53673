// SPDX-License-Identifier: Apache-2.0
#include "edgewise/infer/packed_linear.h"

#include <utility>

namespace edgewise {
namespace {

using kernels::Gemm;
using kernels::GemmActivation;
using kernels::GemmResult;

// Of the thread that computes: a tile of logits.
thread_local kernels::AlignedBytes tile_room;

const float* or_null(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

template <typename T>
void set_norm(kernels::FinishRows<T>& p, const NormParameters& norm) {
  p.gain = or_null(norm.gain);
  p.norm_bias = or_null(norm.bias);
  p.norm = norm.formula;
}

template <typename T, typename Out>
Gemm<T, Out> product_of(std::int64_t rows, const kernels::PackedMatrix<T>& weight, const T* x, const float* bias,
                        Out* out, std::int64_t out_stride) {
  return {.rows = rows,
          .columns = weight.columns(),
          .depth = weight.depth(),
          .a = {x, weight.depth()},
          .packed_b = &weight,
          .bias = bias,
          .out = out,
          .out_stride = out_stride,
          .spare_rows = out_stride == weight.columns() ? kSpareRows : 0};
}

}  // namespace

template <typename T>
PackedLinear<T>::PackedLinear(const std::vector<float>& weight, std::vector<float> bias, std::int64_t in,
                              std::int64_t out, bool is_bf16)
    : in_(in), out_(out), bias_(std::move(bias)) {
  if (is_bf16 && std::is_same_v<T, float>) {
    std::vector<float> rounded(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i) rounded[i] = BFloat16(weight[i]);
    weight_.pack({rounded.data(), in, kernels::MatrixLayout::kColumns}, in, out);
  } else {
    weight_.pack({weight.data(), in, kernels::MatrixLayout::kColumns}, in, out);
  }
}

template <typename T>
kernels::RowProduct PackedLinear<T>::row_product(std::int64_t rows, const Activations<T>& x,
                                                 GemmActivation activation) const requires kIsInt8<T> {
  return {.rows = rows,
          .a = x.values,
          .scales = x.scales,
          .b = &weight_,
          .bias = or_null(bias_),
          .activation = activation,
          .spare_rows = kSpareRows};
}

template <typename T>
void PackedLinear<T>::write(std::int64_t rows, const Activations<T>& x, float* to, std::int64_t stride) const {
  if constexpr (kIsInt8<T>) {
    kernels::write_product(row_product(rows, x, GemmActivation::kNone), to, stride);
  } else {
    kernels::gemm(product_of(rows, weight_, x.values, or_null(bias_), to, stride));
  }
}

template <typename T>
void PackedLinear<T>::activate(std::int64_t rows, const Activations<T>& x, GemmActivation activation,
                               const Activations<T>& to) const {
  if constexpr (kIsInt8<T>) {
    kernels::finish_product(row_product(rows, x, activation),
                            {.rows = rows, .columns = out_, .rounded = to.values, .rounded_scale = to.scales});
  } else {
    auto product = product_of(rows, weight_, x.values, or_null(bias_), to.values, out_);
    product.activation = activation;
    kernels::gemm(product);
  }
}

template <typename T>
void PackedLinear<T>::add_and_norm(std::int64_t rows, const Activations<T>& x, float* sum, const NormParameters& norm,
                                   bool norms_sum, const Activations<T>& to) const {
  if constexpr (kIsInt8<T>) {
    kernels::FinishRows<T> p = {.rows = rows,
                                .columns = out_,
                                .sum = sum,
                                .out = norms_sum ? sum : nullptr,
                                .rounded = to.values,
                                .rounded_scale = to.scales};
    set_norm(p, norm);
    kernels::finish_product(row_product(rows, x, GemmActivation::kNone), p);
  } else {
    auto product = product_of(rows, weight_, x.values, or_null(bias_), sum, out_);
    product.result = GemmResult::kAdd;
    kernels::gemm(product);
    norm_and_round(rows, out_, sum, norm, norms_sum, to);
  }
}

template <typename T>
void PackedLinear<T>::see(const Activations<T>& x, kernels::VocabularyTile tile) const {
  tile.columns = out_;
  if constexpr (kIsInt8<T>) {
    kernels::see_product(row_product(tile.rows, x, GemmActivation::kNone), tile);
  } else {
    auto* values = tile_room.elements<float>((tile.rows + kSpareRows) * out_);
    kernels::gemm(product_of(tile.rows, weight_, x.values, or_null(bias_), values, out_));
    tile.values = values;
    kernels::see_tile(tile);
  }
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
