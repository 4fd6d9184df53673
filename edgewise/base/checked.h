// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "edgewise/base/error.h"

// Arithmetic for numbers that come from a file or a user: it throws where the built-in operators would wrap.
// `what` says in an error text which quantity it is, as in "model.safetensors: the size of \"embedding\"".

namespace edgewise {

template <std::integral T>
T checked_add(T left, std::type_identity_t<T> right, std::string_view what) {
  T sum;
  if (__builtin_add_overflow(left, right, &sum)) {
    fail("{} is {} + {}, needs at most {}", what, left, right, std::numeric_limits<T>::max());
  }
  return sum;
}

template <std::integral T>
T checked_multiply(T left, std::type_identity_t<T> right, std::string_view what) {
  T product;
  if (__builtin_mul_overflow(left, right, &product)) {
    fail("{} is {} * {}, needs at most {}", what, left, right, std::numeric_limits<T>::max());
  }
  return product;
}

/// The same number in another type.
template <std::integral To, std::integral From>
To narrow(From value, std::string_view what) {
  check(std::in_range<To>(value), "{} is {}, needs a number from {} to {}", what, value, std::numeric_limits<To>::min(),
        std::numeric_limits<To>::max());
  return static_cast<To>(value);
}

}  // namespace edgewise
