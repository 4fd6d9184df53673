// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/base/error.h"

namespace edgewise {

/// What the Error says that an action throws.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace edgewise
