// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/round_to_int8.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>

#include <cstdint>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/epilogue.h"
#include "edgewise/kernels/gemm/row_product.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

/// Rows of numbers, and of the integers and scales that stand for them.
struct Int8Rows {
  std::int64_t rows;
  std::int64_t columns;
  const float* values;          // [rows, columns]
  const std::int8_t* integers;  // [rows, columns]
  const float* scales;          // [rows]
};

/// Writes the integers times the scales of their rows, and NaN for a number that is not finite.
void write_products(const Int8Rows& x, float* out) {
  constexpr std::int64_t kGrain = 16'384;
  parallel_for(x.rows, 1 + kGrain / x.columns, [&x, out](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = row * x.columns; i < (row + 1) * x.columns; ++i) {
        const float nothing = x.values[i] - x.values[i];  // 0, or NaN
        out[i] = static_cast<float>(x.integers[i]) * x.scales[row] + nothing;
      }
    }
  });
}

/// Inputs: x.
class RoundToInt8 : public Operation {
 public:
  explicit RoundToInt8(Int8Factor factor) : factor_(factor) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const ScopedTimer timer("rounding");
    const at::Tensor x = inputs[0].contiguous();
    const at::Tensor out = at::empty_like(x);
    const std::int64_t rows = num_rows(x);
    const std::int64_t columns = x.size(-1);
    const float* values = x.const_data_ptr<float>();
    if (factor_ == Int8Factor::kWeight) {
      kernels::AlignedBuffer buffer;
      std::vector<float> scales;
      // The rows of a weight are the columns of its product.
      const auto integers =
          kernels::quantise_columns({values, columns, kernels::MatrixLayout::kColumns}, columns, rows, scales, buffer);
      write_products({rows, columns, values, integers.data, scales.data()}, out.data_ptr<float>());
    } else {
      const at::Tensor integers = at::empty({rows, columns}, x.options().dtype(at::kChar));
      const at::Tensor scales = at::empty({rows}, x.options());
      kernels::apply_epilogue(kernels::RowEpilogue<std::int8_t>{.rows = rows,
                                                                .columns = columns,
                                                                .values = values,
                                                                .rounded = integers.data_ptr<std::int8_t>(),
                                                                .rounded_scale = scales.data_ptr<float>()});
      write_products({rows, columns, values, integers.const_data_ptr<std::int8_t>(), scales.const_data_ptr<float>()},
                     out.data_ptr<float>());
    }
    return {out};
  }

  Tensors backward(const BackwardPass& pass) override { return {pass.grad_outputs[0]}; }

 private:
  Int8Factor factor_;
};

}  // namespace

at::Tensor round_to_int8(const at::Tensor& x_TI, Int8Factor factor) {
  check_float_or_double("round_to_int8", "x", x_TI);
  check(x_TI.dim() > 0, "round_to_int8: x has no dimension, needs at least one: that of a row");
  if (x_TI.numel() == 0) return x_TI;
  if (x_TI.scalar_type() == at::kDouble || backend_of(x_TI, /*has_gpu_kernel=*/false) == Backend::kDefinition) {
    return round_to_int8_plain(x_TI);
  }
  return apply_one<RoundToInt8>({x_TI}, factor);
}

at::Tensor round_to_int8_plain(const at::Tensor& x_TI) {
  if (x_TI.numel() == 0) return x_TI;
  const at::Tensor values_TI = x_TI.detach();
  const at::Tensor largest_T1 = values_TI.abs().amax(-1, /*keepdim=*/true);
  const at::Tensor bound_T1 = at::full_like(largest_T1, 127);
  const at::Tensor factor_T1 = (bound_T1 / largest_T1).masked_fill(largest_T1 == 0, 0);
  const at::Tensor rounded_TI = (values_TI * factor_T1).round() * (largest_T1 / bound_T1);
  return rounded_TI + (x_TI - values_TI);  // the difference is 0, and has the gradient
}

}  // namespace edgewise
