// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/fields.h"

namespace edgewise {

struct BatchOptions {
  std::int64_t tokens = 4096;
  std::int64_t sentences = 0;
  std::int64_t bucket = 32;
  std::int64_t window = 262144;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("tokens", self.tokens, "most tokens in a batch, on its longer side; one longer pair is a batch; 0: no limit",
          at_least(0));
    field("sentences", self.sentences, "most sentence pairs in a batch; 0: no limit", at_least(0));
    field("bucket", self.bucket, "batches whose pairs are sorted by length together; 0: those of a whole epoch",
          at_least(0));
    field("window", self.window,
          "most pairs in memory at once; of more, an epoch goes through one such part after the other; 0: no limit",
          at_least(0));
  }
};

}  // namespace edgewise
