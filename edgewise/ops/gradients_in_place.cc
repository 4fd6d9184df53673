// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gradients_in_place.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace edgewise {
namespace {

thread_local bool active = false;

}  // namespace

GradientsInPlace::GradientsInPlace() : before_(std::exchange(active, true)) {}
GradientsInPlace::~GradientsInPlace() { active = before_; }

bool GradientsInPlace::is_active() { return active; }

GradientPlace gradient_place(const at::Tensor& parameter) {
  if (GradientsInPlace::is_active() && parameter.is_leaf()) {
    const at::Tensor& own = parameter.grad();
    if (own.defined() && own.is_contiguous() && own.scalar_type() == parameter.scalar_type()) return {own, true};
  }
  return {at::empty(parameter.sizes(), parameter.options().requires_grad(false)), false};
}

GradientPlace zeroed_gradient_place(const at::Tensor& parameter) {
  GradientPlace place = gradient_place(parameter);
  if (!place.holds_sum) place.memory.zero_();
  return place;
}

}  // namespace edgewise
