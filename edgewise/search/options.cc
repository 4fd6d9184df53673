// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/options.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

void check_token(std::string_view name, std::int64_t token, std::int64_t vocabulary_size) {
  check(token >= 0 && token < vocabulary_size, "search: {} is {}, but the vocabulary has {} tokens, counted from 0",
        name, token, vocabulary_size);
}

/// Checks the ranges that SearchOptions::list_fields gives. The config reader checks them only for options from a
/// config file.
void check_ranges(SearchOptions options) {
  const auto check_number = [](const Field& field, double number) {
    check(std::isfinite(number) && field.range.contains(number), "search: {} is {}, a finite number{} is needed",
          field.name, number, field.range.text());
  };
  for (const Field& field : fields_of(options)) {
    if (const auto* number = std::get_if<double*>(&field.value)) check_number(field, **number);
    if (const auto* number = std::get_if<std::int64_t*>(&field.value)) {
      check_number(field, static_cast<double>(**number));
    }
  }
}

}  // namespace

void check_options(const SearchOptions& options, std::int64_t vocabulary_size) {
  check_ranges(options);
  check(options.beam <= vocabulary_size,
        "search: beam is {}, but the vocabulary has {} tokens; at most so many are needed", options.beam,
        vocabulary_size);
  check(options.kind != SearchKind::kBeam || options.n_best <= options.beam,
        "search: n_best is {}, but the beam is {}; a beam at least as wide is needed", options.n_best, options.beam);

  check_token("begin_token", options.begin_token, vocabulary_size);
  check_token("end_token", options.end_token, vocabulary_size);
  for (const std::int64_t token : options.never) check_token("never", token, vocabulary_size);
  for (const std::int64_t token : options.only) check_token("only", token, vocabulary_size);
  check(std::find(options.never.begin(), options.never.end(), options.end_token) == options.never.end(),
        "search: never holds the end token {}, without which no output ends; take it out", options.end_token);
}

}  // namespace edgewise
