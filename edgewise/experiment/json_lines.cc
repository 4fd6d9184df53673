// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/json_lines.h"

#include <fmt/format.h>

#include "edgewise/base/files/files.h"

namespace edgewise {

void for_each_json_line(const std::filesystem::path& file, std::string_view caller,
                        const std::function<bool(const JsonLine&)>& read) {
  const std::string text = read_file(file, caller, kMaxRecordBytes);
  std::int64_t number = 0;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string where = fmt::format("{}: {}:{}", caller, file.string(), ++number);
    JsonScanner json(std::string_view(text).substr(begin, end - begin), where);
    begin = end + 1;
    if (!read({json, where, begin})) return;
    json.expect_end();
  }
}

std::int64_t read_count(JsonScanner& json, std::string_view what) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  const std::uint64_t count = json.read_whole_number(what);
  if (count > kMost) json.fail_at_value(fmt::format("{} is {}, needs at most {}", what, count, kMost));
  return static_cast<std::int64_t>(count);
}

}  // namespace edgewise
