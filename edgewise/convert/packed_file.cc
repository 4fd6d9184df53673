// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/packed_file.h"

#include <memory>
#include <system_error>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/text/corpus/byte_source.h"

namespace edgewise {

std::string read_packed_file(const std::filesystem::path& path, std::string_view caller, std::uint64_t max_bytes) {
  if (path.extension() != kPackedEnding) return read_file(path, caller, max_bytes);
  std::error_code error;
  check(std::filesystem::is_regular_file(path, error), "{}: {} is no regular file, needs one", caller, path.string());
  const std::unique_ptr<ByteSource> source = open_source({.path = path.string(), .caller = std::string(caller)});
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  std::string bytes, chunk(kChunkBytes, '\0');
  while (const std::size_t count = source->read(chunk)) {
    check(count <= max_bytes - bytes.size(), "{}: {} has more than {} bytes, needs at most so many", caller,
          path.string(), max_bytes);
    bytes.append(chunk, 0, count);
  }
  return bytes;
}

}  // namespace edgewise
