// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropped.h"

#include <ATen/ops/empty.h>

#include "edgewise/ops/element_types.h"

namespace edgewise {

at::Tensor dropped(const at::Tensor& x, const kernels::Dropout& rule, at::ScalarType type) {
  at::Tensor out = at::empty(x.sizes(), x.options().dtype(type));
  const auto run = [&](auto from, auto to) {
    kernels::dropout(rule, x.numel(), data_or_null<decltype(from)>(x), data_or_null<decltype(to)>(out));
  };
  if (x.scalar_type() == at::kDouble) {
    run(double{}, double{});
  } else {
    with_narrow_type(x.scalar_type(), [&](auto from) { with_narrow_type(type, [&](auto to) { run(from, to); }); });
  }
  return out;
}

}  // namespace edgewise
