// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gradients_in_place.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace edgewise {
namespace {

thread_local bool active = false;

}  // namespace

GradientsInPlaceGuard::GradientsInPlaceGuard() : was_active_(std::exchange(active, true)) {}
GradientsInPlaceGuard::~GradientsInPlaceGuard() { active = was_active_; }

bool GradientsInPlaceGuard::is_active() { return active; }

GradientBuffer gradient_buffer(const at::Tensor& parameter) {
  if (GradientsInPlaceGuard::is_active() && parameter.is_leaf()) {
    const at::Tensor& own = parameter.grad();
    if (own.defined() && own.is_contiguous() && own.scalar_type() == parameter.scalar_type()) return {own, true};
  }
  return {at::empty(parameter.sizes(), parameter.options().requires_grad(false)), false};
}

GradientBuffer zeroed_gradient_buffer(const at::Tensor& parameter) {
  GradientBuffer buffer = gradient_buffer(parameter);
  if (!buffer.is_accumulated) buffer.memory.zero_();
  return buffer;
}

}  // namespace edgewise
