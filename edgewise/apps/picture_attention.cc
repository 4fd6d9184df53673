// SPDX-License-Identifier: Apache-2.0
// edgewise picture attention --model RUN --input "A sentence." -o FILE
#include "edgewise/apps/commands.h"
#include "edgewise/apps/picture_output.h"

namespace edgewise {

void add_picture_attention(CLI::App& picture, int& exit_code) {
  picture.add_subcommand("attention", "Where a model looks while it translates a sentence");
  static_cast<void>(exit_code);
}

}  // namespace edgewise
