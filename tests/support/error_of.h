// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/base/error.h"

namespace edgewise {

/// Runs an action, and returns the text of the Error that it throws, or "no error".
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
