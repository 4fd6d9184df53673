// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/rotate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>

#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/rotary/rotate.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/device_copies.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

void check_rotation(const at::Tensor& x_NHK, const at::Tensor& table_PK, std::span<const std::int64_t> rows) {
  check_floating_point("rotate", "x", x_NHK);
  check_dimensions("rotate", "x", x_NHK, 3, "nodes, heads, head size");
  check(x_NHK.size(2) % 2 == 0, "rotate: x has heads of {} numbers, needs an even size", x_NHK.size(2));
  check_parameter("rotate", "table", table_PK, "x", x_NHK);
  check(table_PK.dim() == 2 && table_PK.size(1) == x_NHK.size(2), "rotate: table is {}, needs [P, {}]",
        shape_text(table_PK), x_NHK.size(2));
  check(std::ssize(rows) == x_NHK.size(0), "rotate: there are {} rows, needs one for each of {} nodes", rows.size(),
        x_NHK.size(0));
  for (const std::int64_t row : rows) {
    check(row >= 0 && row < table_PK.size(0), "rotate: a row is {}, needs a number in [0, {})", row, table_PK.size(0));
  }
}

at::Tensor run_kernel(const at::Tensor& x_NHK, const at::Tensor& table_PK, std::span<const std::int64_t> rows,
                      bool is_inverse) {
  const ScopedTimer timer("rotations");
  const at::Tensor from_NHK = x_NHK.contiguous();
  at::Tensor out_NHK = at::empty_like(from_NHK);
  with_floating_point(from_NHK, [&](auto zero) {
    using T = decltype(zero);
    kernels::rotate(kernels::Rotate<T>{.num_nodes = from_NHK.size(0),
                                       .num_heads = from_NHK.size(1),
                                       .head_size = from_NHK.size(2),
                                       .table = data_or_null<kernels::AccumulatorType<T>>(table_PK),
                                       .rows = rows.data(),
                                       .x = data_or_null<T>(from_NHK),
                                       .out = data_or_null<T>(out_NHK),
                                       .is_inverse = is_inverse});
  });
  return out_NHK;
}

/// Inputs: x_NHK.
class RotateHeads : public Operation {
 public:
  RotateHeads(at::Tensor table_PK, std::span<const std::int64_t> rows)
      : table_PK_(std::move(table_PK)), rows_(rows.begin(), rows.end()) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    return {run_kernel(inputs[0], table_PK_, rows_, /*is_inverse=*/false)};
  }

  Tensors backward(const BackwardPass& pass) override {
    check_differentiated_once("rotate");
    return {run_kernel(pass.grad_outputs[0], table_PK_, rows_, /*is_inverse=*/true)};
  }

 private:
  at::Tensor table_PK_;
  std::vector<std::int64_t> rows_;
};

}  // namespace

at::Tensor rotate(const at::Tensor& x_NHK, const at::Tensor& table_PK, std::span<const std::int64_t> rows) {
  check_rotation(x_NHK, table_PK, rows);
  if (backend_of(x_NHK, /*has_gpu_kernel=*/false) == Backend::kDefinition) return rotate_plain(x_NHK, table_PK, rows);
  return apply_one<RotateHeads>({x_NHK}, table_PK.contiguous(), rows);
}

at::Tensor rotate_plain(const at::Tensor& x_NHK, const at::Tensor& table_PK, std::span<const std::int64_t> rows) {
  const std::int64_t half = x_NHK.size(2) / 2;
  const at::Tensor angle_N1K = table_PK.index_select(0, index_tensor(rows, table_PK.device())).unsqueeze(1);
  const at::Tensor sine = angle_N1K.narrow(2, 0, half);
  const at::Tensor cosine = angle_N1K.narrow(2, half, half);
  const at::Tensor x = x_NHK.to(parameter_type(x_NHK));
  const at::Tensor first = x.narrow(2, 0, half);
  const at::Tensor second = x.narrow(2, half, half);
  return at::cat({first * cosine - second * sine, first * sine + second * cosine}, 2).to(x_NHK.scalar_type());
}

}  // namespace edgewise
