// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/base/fields.h"

namespace edgewise {

/// A pair whose attention is saved while a model learns.
struct ShowOptions {
  std::string input;
  std::string output;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("input", self.input,
          "a sentence whose attention each validation saves to RUN/attention.jsonl, for `edgewise picture training`; "
          "empty: none");
    field("output", self.output, "what the model reads as its output");
  }
};

}  // namespace edgewise
