// SPDX-License-Identifier: Apache-2.0
// libFuzzer for the reader that the environment variable READER names (readers.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/fuzz/readers.h"

namespace {

const edgewise::fuzz::Reader* reader = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("READER");
  static std::vector<edgewise::fuzz::Reader> all(edgewise::fuzz::readers().begin(), edgewise::fuzz::readers().end());
  all.insert(all.end(), edgewise::fuzz::run_readers().begin(), edgewise::fuzz::run_readers().end());
  const auto found =
      std::ranges::find(all, std::string_view(name == nullptr ? "" : name), &edgewise::fuzz::Reader::name);
  if (found == all.end()) {
    std::fprintf(stderr, "fuzz_readers: READER is %s, needs one of", name == nullptr ? "not set" : name);
    for (const auto& each : all) std::fprintf(stderr, " %s", each.name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  reader = &*found;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reader->read({reinterpret_cast<const char*>(data), size});
  return 0;
}
