// SPDX-License-Identifier: Apache-2.0
// Shapes of the results of operations for which libtorch has kernels of the device `meta` in Python only.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <torch/library.h>

#include <vector>

namespace edgewise {
namespace {

at::Tensor index_select(const at::Tensor& x, std::int64_t dimension, const at::Tensor& index) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape[static_cast<std::size_t>(dimension)] = index.numel();
  return at::empty(shape, x.options());
}

at::Tensor embedding_dense_backward(const at::Tensor& gradient, const at::Tensor& /*indices*/, c10::SymInt num_weights,
                                    c10::SymInt /*padding_index*/, bool /*scale_by_frequency*/) {
  return at::empty({num_weights.expect_int(), gradient.size(-1)}, gradient.options());
}

at::Tensor& map_elements(const at::Tensor& x, at::Tensor& out) {
  out.resize_(x.sizes());
  return out;
}

at::Tensor with_shape_of(const at::Tensor& x) { return at::empty(x.sizes(), x.options()); }

at::Tensor where(const at::Tensor& condition, const at::Tensor& x, const at::Tensor& other) {
  const at::Tensor shape = (x + other) + condition;
  return at::empty(shape.sizes(), x.options().dtype(at::result_type(x, other)));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, Meta, library) {
  library.impl("abs.out", map_elements);
  library.impl("index_select", index_select);
  library.impl("logical_not.out", map_elements);
  library.impl("relu", with_shape_of);
  library.impl("where.self", where);
  library.impl("embedding_dense_backward", embedding_dense_backward);
}

}  // namespace edgewise
