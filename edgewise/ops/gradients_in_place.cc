// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gradients_in_place.h"

#include <ATen/ops/empty.h>

#include <memory>

#include "edgewise/ops/backend.h"

namespace edgewise {
namespace {

struct GradientsInPlace : c10::DebugInfoBase {};

constexpr c10::DebugInfoKind kKind = c10::DebugInfoKind::PRODUCER_INFO;

}  // namespace

GradientsInPlaceGuard::GradientsInPlaceGuard() : guard_(kKind, std::make_shared<GradientsInPlace>()) {}

bool GradientsInPlaceGuard::is_active() {
  return dynamic_cast<const GradientsInPlace*>(c10::ThreadLocalDebugInfo::get(kKind)) != nullptr;
}

GradientBuffer gradient_buffer(const at::Tensor& parameter) {
  if (GradientsInPlaceGuard::is_active() && parameter.is_leaf()) {
    const at::Tensor& own = parameter.grad();
    const bool fits = own.defined() && own.is_contiguous() && own.scalar_type() == parameter.scalar_type();
    if (fits && (backend_of(own) != Backend::kGpu || is_aligned(own))) return {own, true};
  }
  return {at::empty(parameter.sizes(), parameter.options().requires_grad(false)), false};
}

GradientBuffer zeroed_gradient_buffer(const at::Tensor& parameter) {
  GradientBuffer buffer = gradient_buffer(parameter);
  if (!buffer.is_accumulated) buffer.memory.zero_();
  return buffer;
}

}  // namespace edgewise
