// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace edgewise {

struct StoreHandle {
  c10::intrusive_ptr<c10d::Store> store;
};

}  // namespace edgewise
