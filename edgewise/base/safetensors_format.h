// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Limits that the reader and the writer share.

namespace edgewise {

inline constexpr std::string_view kMetadataKey = "__metadata__";
inline constexpr std::uint64_t kLengthBytes = 8;
inline constexpr std::uint64_t kLargestHeader = 100'000'000;
inline constexpr std::size_t kMostTensors = 100'000;
inline constexpr std::size_t kMostDimensions = 64;
inline constexpr std::uint64_t kLargestDimension = std::uint64_t{1} << 53;
inline constexpr std::size_t kMostMetadataBytes = 1'000'000;

}  // namespace edgewise
