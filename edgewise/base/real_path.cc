// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/real_path.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

bool leads_nowhere(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(fs::symlink_status(path, error)) && fs::status(path, error).type() == fs::file_type::not_found;
}

}  // namespace

fs::path real_path(const fs::path& path, std::error_code& error) {
  fs::path real = fs::absolute(path, error);
  // weakly_canonical() does not follow a link that leads nowhere.
  while (!error && leads_nowhere(real)) real = real.parent_path() / fs::read_symlink(real, error);
  return error ? fs::path() : fs::weakly_canonical(real, error);
}

}  // namespace edgewise
