// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "edgewise/nn/module.h"

namespace edgewise {

/// Replaces parameters by tensors of the same shapes on the device `meta`, which have no numbers.
/// at::Tensor::set_data() does so for GPUs, but refuses `meta`.
inline void move_to_meta(const std::vector<NamedTensor>& parameters) {
  for (const NamedTensor& named : parameters) {
    const at::Tensor meta = named.tensor.detach().to(at::kMeta);
    named.tensor.unsafeGetTensorImpl()->shallow_copy_from(meta.getIntrusivePtr());
  }
}

}  // namespace edgewise
