// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gradients_in_place.h"

#include <utility>

namespace edgewise {
namespace {

thread_local bool active = false;

}  // namespace

GradientsInPlace::GradientsInPlace() : before_(std::exchange(active, true)) {}
GradientsInPlace::~GradientsInPlace() { active = before_; }

bool GradientsInPlace::is_active() { return active; }

}  // namespace edgewise
