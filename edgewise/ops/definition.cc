// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/definition.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

bool environment_asks_for_definitions() {
  const char* value = std::getenv("EDGEWISE_OPERATIONS");
  if (value == nullptr || *value == '\0') return false;
  check(std::string_view(value) == "definition", "EDGEWISE_OPERATIONS is '{}', needs definition, or nothing", value);
  return true;
}

std::atomic<int> num_guards = 0;

}  // namespace

bool uses_definition(const at::Tensor& x) {
  static const bool is_asked_for = environment_asks_for_definitions();
  return is_asked_for || num_guards > 0 || !x.is_cpu();
}

DefinitionsGuard::DefinitionsGuard() { ++num_guards; }
DefinitionsGuard::~DefinitionsGuard() { --num_guards; }

}  // namespace edgewise
