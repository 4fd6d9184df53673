// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/check_options.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"

namespace edgewise {

namespace {

void check_token(std::string_view name, std::int64_t token, std::int64_t vocabulary_size) {
  check(token >= 0 && token < vocabulary_size, "search: {} is {}, but the vocabulary has {} tokens, counted from 0",
        name, token, vocabulary_size);
}

void check_number(std::string_view name, double number) {
  check(std::isfinite(number) && number >= 0, "search: {} is {}, a finite number of at least 0 is needed", name,
        number);
}

}  // namespace

void check_options(const SearchOptions& options, std::int64_t vocabulary_size) {
  check(options.beam >= 1, "search: beam is {}, at least 1 is needed", options.beam);
  check(options.beam <= vocabulary_size,
        "search: beam is {}, but the vocabulary has {} tokens; at most so many are needed", options.beam,
        vocabulary_size);
  check_number("length_penalty", options.length_penalty);
  check_number("length_factor", options.length_factor);
  check(options.length_offset >= 0, "search: length_offset is {}, at least 0 is needed", options.length_offset);

  check_token("begin_token", options.begin_token, vocabulary_size);
  check_token("end_token", options.end_token, vocabulary_size);
  for (const std::int64_t token : options.never) check_token("never", token, vocabulary_size);
  check(std::find(options.never.begin(), options.never.end(), options.end_token) == options.never.end(),
        "search: never holds the end token {}, without which no output ends; take it out", options.end_token);
}

}  // namespace edgewise
