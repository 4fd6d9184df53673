// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/print_options.h"

#include "edgewise/apps/runtime/command_description.h"
#include "edgewise/apps/runtime/completion.h"
#include "edgewise/apps/runtime/manual_page.h"
#include "edgewise/apps/runtime/shared_options.h"

namespace edgewise {

void add_print_options(CLI::App& program) {
  constexpr const char* kGroup = "Manual page and completion";
  program
      .add_flag_callback(
          "--print-manual", [&program] { throw PrintRequest(manual_page(describe_command(program))); },
          "print the manual page of all commands, for man, and end")
      ->group(kGroup);
  program
      .add_option_function<Shell>(
          "--print-completion",
          [&program](Shell shell) { throw PrintRequest(completion(shell, describe_command(program))); },
          "print a script that completes arguments in bash, zsh or fish, and end")
      ->transform(one_of<Shell>())
      ->group(kGroup);
}

}  // namespace edgewise
