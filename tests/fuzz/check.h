// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "edgewise/base/error.h"

namespace edgewise::fuzz {

/// Aborts unless the condition holds: a finding.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Runs a reader and ignores an Error; returns whether there was none. Other exceptions are findings.
template <class Read>
bool accept_errors(Read read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace edgewise::fuzz
