// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgewise {

/// The value of --shard: one part of a text, or the parts that no other process holds.
struct ShardChoice {
  std::optional<std::int64_t> shard;  // nothing: any
  std::int64_t shards = 1;
};

/// Parses `3/16` and `any/16`. Throws Error, which begins with `caller`, for other text and for a shard that is not
/// below the number of shards.
ShardChoice parse_shard_choice(std::string_view text, std::string_view caller);

}  // namespace edgewise
