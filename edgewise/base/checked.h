// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "edgewise/base/error.h"

// Arithmetic for numbers from a file or a user. The functions throw Error instead of overflowing; `what` names the
// quantity in the error text, for example "model.safetensors: the size of \"embedding\"".

namespace edgewise {

namespace detail {

template <std::integral T>
[[noreturn]] void fail_beyond(bool is_negative, T left, char operation, T right, std::string_view what) {
  using Limits = std::numeric_limits<T>;
  if (is_negative) fail("{} is {} {} {}, needs at least {}", what, left, operation, right, Limits::min());
  fail("{} is {} {} {}, needs at most {}", what, left, operation, right, Limits::max());
}

}  // namespace detail

template <std::integral T>
T checked_add(T left, std::type_identity_t<T> right, std::string_view what) {
  T sum;
  if (__builtin_add_overflow(left, right, &sum)) detail::fail_beyond(std::cmp_less(left, 0), left, '+', right, what);
  return sum;
}

template <std::integral T>
T checked_multiply(T left, std::type_identity_t<T> right, std::string_view what) {
  T product;
  if (__builtin_mul_overflow(left, right, &product)) {
    detail::fail_beyond(std::cmp_less(left, 0) != std::cmp_less(right, 0), left, '*', right, what);
  }
  return product;
}

/// Converts `value` to another integer type. Throws Error if `value` does not fit.
template <std::integral To, std::integral From>
To narrow(From value, std::string_view what) {
  check(std::in_range<To>(value), "{} is {}, needs a number from {} to {}", what, value, std::numeric_limits<To>::min(),
        std::numeric_limits<To>::max());
  return static_cast<To>(value);
}

}  // namespace edgewise
