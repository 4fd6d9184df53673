// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/shard_choice.h"

#include "edgewise/base/error.h"
#include "edgewise/base/parse_number.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/text_shards.h"

namespace edgewise {

ShardChoice parse_shard_choice(std::string_view text, std::string_view caller) {
  constexpr std::string_view kAny = "any";
  const std::size_t slash = text.find('/');
  const std::string_view shard = text.substr(0, slash);
  ShardChoice choice;
  std::int64_t number = 0;
  const bool is_any = shard == kAny;
  const bool has_form = slash != std::string_view::npos && (is_any || parse_number(shard, Range(), number)) &&
                        parse_number(text.substr(slash + 1), Range(), choice.shards);
  check(has_form, "{}: --shard is {}, needs I/N, shard I of N such as 3/16, or any/N", caller, quote(text));
  check(choice.shards >= 1 && choice.shards <= kMaxShards, "{}: --shard is {}, needs from 1 to {} shards", caller, text,
        kMaxShards);
  check(is_any || (number >= 0 && number < choice.shards),
        "{}: --shard is {}, needs a shard from 0 to {}: shards are counted from 0, as in an array of Slurm with "
        "--array=0-{}",
        caller, text, choice.shards - 1, choice.shards - 1);
  if (!is_any) choice.shard = number;
  return choice;
}

}  // namespace edgewise
