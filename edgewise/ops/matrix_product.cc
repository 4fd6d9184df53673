// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/matrix_product.h"

#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include "edgewise/base/address_space.h"

namespace edgewise {

using kernels::GemmResult;

namespace {

void forbid_partial_sums_in_bf16() {
  static const bool is_forbidden = [] {
    at::globalContext().setAllowBF16ReductionCuBLAS(false);
    return true;
  }();
  static_cast<void>(is_forbidden);
}

/// Computes a product of bf16 with a result in fp32.
void multiply_to_floats(const at::Tensor& a_RD, const at::Tensor& b_DC, GemmResult result, at::Tensor out_RC) {
  if (!out_RC.is_cuda()) {  // libtorch has such products for GPUs alone
    return multiply(a_RD.to(at::kFloat), b_DC.to(at::kFloat), result, out_RC);
  }
  if (result == GemmResult::kAdd) {
    at::addmm_out(out_RC, out_RC, a_RD, b_DC, at::kFloat);
  } else {
    at::mm_out(out_RC, a_RD, b_DC, at::kFloat);
  }
}

}  // namespace

void multiply(const at::Tensor& a_RD, const at::Tensor& b_DC, GemmResult result, const at::Tensor& out_RC) {
  const LibraryCall call;
  if (out_RC.is_cuda()) forbid_partial_sums_in_bf16();
  if (out_RC.scalar_type() != a_RD.scalar_type()) return multiply_to_floats(a_RD, b_DC, result, out_RC);
  at::Tensor out = out_RC;
  if (result == GemmResult::kAdd) {
    at::addmm_out(out, out, a_RD, b_DC);
  } else {
    at::mm_out(out, a_RD, b_DC);
  }
}

void multiply_add_bias(const at::Tensor& a_RD, const at::Tensor& b_DC, const at::Tensor& bias_C,
                       const at::Tensor& out_RC) {
  const LibraryCall call;
  if (!bias_C.defined()) return multiply(a_RD, b_DC, GemmResult::kWrite, out_RC);
  if (out_RC.scalar_type() != a_RD.scalar_type()) {
    out_RC.copy_(bias_C.expand_as(out_RC));
    return multiply(a_RD, b_DC, GemmResult::kAdd, out_RC);
  }
  if (out_RC.is_cuda()) forbid_partial_sums_in_bf16();
  at::Tensor out = out_RC;
  at::addmm_out(out, bias_C.to(out.scalar_type()), a_RD, b_DC);
}

}  // namespace edgewise
