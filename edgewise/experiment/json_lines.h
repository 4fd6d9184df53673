// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "edgewise/base/files/json_scanner.h"

namespace edgewise {

struct JsonLine {
  JsonScanner& json;
  const std::string& where;  // begins errors: caller, file and line
  std::size_t end = 0;       // offset of the next line
};

/// Reads a file with one JSON object per line, such as metrics.jsonl: calls `read` with each line until `read` returns
/// false. `read` must read the whole line. Skips a last line without a line feed, which is still being written or was
/// cut by the end of its process. Throws Error, which begins with `caller`, for a file that cannot be read.
void for_each_json_line(const std::filesystem::path& file, std::string_view caller,
                        const std::function<bool(const JsonLine&)>& read);

/// Reads a whole number from 0 to 2^53, which int64 and double hold exactly.
std::int64_t read_count(JsonScanner& json, std::string_view what);

}  // namespace edgewise
