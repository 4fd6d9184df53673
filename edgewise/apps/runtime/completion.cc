// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/completion.h"

namespace edgewise {

std::string completion(Shell shell, const CommandDescription& program) {
  switch (shell) {
    case Shell::kBash:
      return detail::bash_completion(program);
    case Shell::kZsh:
      return detail::zsh_completion(program);
    case Shell::kFish:
      return detail::fish_completion(program);
  }
  return "";
}

}  // namespace edgewise
