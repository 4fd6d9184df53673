// SPDX-License-Identifier: Apache-2.0
// Attention over a window, without a mask. README.md has the function.
#include <ATen/ATen.h>

#include <iostream>

#include "edgewise/graph/builders.h"
#include "edgewise/ops/attend.h"

at::Tensor attend_to_window(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  return edgewise::attend(edgewise::window(query.size(0), {.before = 128}), query, key, value);
}

int main() {
  const at::Tensor nodes = at::randn({4096, 8, 64});  // nodes, heads, size of a head
  std::cout << attend_to_window(nodes, nodes, nodes).sizes() << std::endl;
}
