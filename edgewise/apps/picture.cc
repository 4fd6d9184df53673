// SPDX-License-Identifier: Apache-2.0
// edgewise picture WHAT: to look inside models, graphs and runs.
#include "edgewise/apps/runtime/commands.h"

namespace edgewise {

void add_picture(CLI::App& program, int& exit_code) {
  CLI::App* picture = program.add_subcommand("picture", "Draw what is inside models, graphs and runs");
  picture->require_subcommand(1);
  add_picture_attention(*picture, exit_code);
  add_picture_report(*picture, exit_code);
  add_picture_graph(*picture, exit_code);
  add_picture_training(*picture, exit_code);
  add_picture_halting(*picture, exit_code);
  add_picture_positions(*picture, exit_code);
}

}  // namespace edgewise
