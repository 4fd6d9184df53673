// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/toml_key_depth.h"

#include <algorithm>

namespace edgewise::detail {
namespace {

constexpr std::string_view kSpace = " \t";
constexpr std::string_view kBareKey = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+";

/// Splits a text into the parts of keys (bare words and strings), dots and other characters. A value looks like a key:
/// 1.5 has two parts. Does not check the text.
class KeyScanner {
 public:
  explicit KeyScanner(std::string_view text) : rest_(text) {}

  DeepestKey run() {
    while (!rest_.empty()) {
      if (kSpace.find(rest_[0]) != std::string_view::npos) {
        skip(rest_.find_first_not_of(kSpace));
      } else if (rest_[0] == '#') {
        skip(rest_.find('\n'));
      } else if (rest_[0] == '"' || rest_[0] == '\'') {
        skip_string();
        add_part();
      } else if (kBareKey.find(rest_[0]) != std::string_view::npos) {
        skip(rest_.find_first_not_of(kBareKey));
        add_part();
      } else {
        is_after_dot_ = rest_[0] == '.';
        skip(1);
      }
    }
    return deepest_;
  }

 private:
  void skip(std::size_t size) {
    size = std::min(size, rest_.size());
    line_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, size), '\n'));
    rest_.remove_prefix(size);
  }

  void skip_string() {
    const std::string_view mark = rest_.substr(0, 1);
    const std::string_view long_mark = mark == "\"" ? "\"\"\"" : "'''";
    const bool is_long = rest_.starts_with(long_mark);
    skip(is_long ? 3 : 1);
    while (!rest_.empty() && !rest_.starts_with(is_long ? long_mark : mark)) {
      if (!is_long && rest_[0] == '\n') return;  // not TOML
      skip(rest_[0] == '\\' && mark == "\"" ? 2 : 1);
    }
    skip(is_long ? 3 : 1);
    // Up to two marks before the closing three belong to the string.
    for (int i = 0; is_long && i < 2 && rest_.starts_with(mark); ++i) skip(1);
  }

  void add_part() {
    parts_ = is_after_dot_ ? parts_ + 1 : 1;
    is_after_dot_ = false;
    if (parts_ > deepest_.parts) deepest_ = {parts_, line_};
  }

  std::string_view rest_;
  DeepestKey deepest_;
  std::size_t line_ = 1;
  std::size_t parts_ = 0;
  bool is_after_dot_ = false;
};

}  // namespace

DeepestKey find_deepest_key(std::string_view toml) { return KeyScanner(toml).run(); }

}  // namespace edgewise::detail
