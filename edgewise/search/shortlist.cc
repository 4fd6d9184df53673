// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/shortlist.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/byte_reader.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kShortlistMagic = 0xF11A48D5013417F5;
constexpr std::size_t kChecksumEnd = 16;  // the checksum is of the bytes after it

template <typename Number>
std::vector<Number> take_numbers(ByteReader& reader, std::uint64_t count, std::string_view what) {
  if (count > reader.num_left() / sizeof(Number)) {
    reader.fail_here("the file has {} {}, needs {} bytes for each, and has {} bytes left", count, what, sizeof(Number),
                     reader.num_left());
  }
  std::vector<Number> numbers;
  numbers.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(reader.take_number<Number>(what));
  return numbers;
}

void check_offsets(const ShortlistTable& table, const std::string& where) {
  const std::vector<std::uint64_t>& offsets = table.offsets;
  check(!offsets.empty(), "{} has no offsets, needs one more than lists", where);
  check(offsets.front() == 0, "{} has lists from token {}, needs 0", where, offsets.front());
  check(offsets.back() == table.tokens.size(), "{} has lists of {} tokens, needs {}, the tokens of the file", where,
        offsets.back(), table.tokens.size());
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    check(offsets[i - 1] <= offsets[i], "{} has the offset {} after {}, needs ascending offsets", where, offsets[i],
          offsets[i - 1]);
  }
}

}  // namespace

std::uint64_t shortlist_checksum(std::string_view file) {
  std::uint64_t sum = 0;
  ByteReader reader(file.substr(std::min(file.size(), kChecksumEnd)), "shortlist_checksum");
  while (reader.num_left() >= sizeof(sum)) {
    const auto number = reader.take_number<std::uint64_t>("a number");
    sum ^= number + 0x9E3779B9 + (sum << 6) + (sum >> 2);
  }
  return sum;
}

ShortlistTable parse_shortlist(std::string_view bytes, const std::string& where) {
  ByteReader reader(bytes, where);
  const auto take = [&](std::string_view what) { return reader.take_number<std::uint64_t>(what); };
  const std::uint64_t magic = take("the first number");
  check(magic == kShortlistMagic, "{} begins with {:#x}, needs {:#x}, because it is a shortlist", where, magic,
        kShortlistMagic);
  const std::uint64_t checksum = take("the checksum");
  ShortlistTable table;
  table.first = take("the number of first tokens");
  table.best = take("the length of lists");
  const std::uint64_t num_offsets = take("the number of offsets");
  const std::uint64_t num_tokens = take("the number of tokens");
  table.offsets = take_numbers<std::uint64_t>(reader, num_offsets, "offsets");
  table.tokens = take_numbers<std::uint32_t>(reader, num_tokens, "tokens");
  check(reader.num_left() == 0, "{} has {} bytes after the tokens, needs none", where, reader.num_left());
  check_offsets(table, where);
  check(shortlist_checksum(bytes) == checksum, "{} has the checksum {:#x}, needs {:#x}; copy the file again", where,
        shortlist_checksum(bytes), checksum);
  return table;
}

std::string serialize_shortlist(const ShortlistTable& table) {
  check_offsets(table, "serialize_shortlist: the table");
  std::string body;
  for (const std::uint64_t number :
       {table.first, table.best, std::uint64_t{table.offsets.size()}, std::uint64_t{table.tokens.size()}}) {
    append_number(body, number);
  }
  for (const std::uint64_t offset : table.offsets) append_number(body, offset);
  for (const std::uint32_t token : table.tokens) append_number(body, token);
  std::string file;
  append_number(file, kShortlistMagic);
  append_number(file, shortlist_checksum(std::string(kChecksumEnd, '\0') + body));
  return file + body;
}

Shortlist::Shortlist(ShortlistTable table, const ShortlistVocabularies& vocabularies, const std::string& where)
    : table_(std::move(table)), vocabularies_(vocabularies) {
  check_offsets(table_, where);
  const auto lists = std::ssize(table_.offsets) - 1;
  const std::int64_t inputs = vocabularies_.input_size;
  check(lists == inputs || lists == inputs - 1, "{} has {} lists, needs {} or {}, the size of the input vocabulary",
        where, lists, inputs - 1, inputs);
  check(!vocabularies_.is_shared || inputs == vocabularies_.output_size,
        "{}: a shared vocabulary has {} input tokens, needs the {} output tokens", where, inputs,
        vocabularies_.output_size);
  for (const std::uint32_t token : table_.tokens) {
    check(token < vocabularies_.output_size, "{} has token {}, but the output vocabulary has {} tokens, counted from 0",
          where, token, vocabularies_.output_size);
  }
}

std::vector<std::int32_t> Shortlist::select(const Tokens& input) const {
  const auto size = static_cast<std::uint64_t>(vocabularies_.output_size);
  std::vector<std::int32_t> selected(std::min(table_.first, size));
  const auto first = static_cast<std::int32_t>(selected.size());
  std::iota(selected.begin(), selected.end(), 0);
  const auto add = [&](std::uint32_t token) {
    if (static_cast<std::int32_t>(token) >= first) selected.push_back(static_cast<std::int32_t>(token));
  };
  add(static_cast<std::uint32_t>(vocabularies_.end_token));
  for (const std::int64_t token : input) {
    if (token < 0 || token >= vocabularies_.input_size) continue;
    if (vocabularies_.is_shared) add(static_cast<std::uint32_t>(token));
    const auto list = static_cast<std::size_t>(token);
    if (list + 1 == table_.offsets.size()) continue;
    for (std::uint64_t i = table_.offsets[list]; i < table_.offsets[list + 1]; ++i) add(table_.tokens[i]);
  }
  std::sort(selected.begin() + first, selected.end());
  selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
  const auto num_selected = selected.size();
  auto next = static_cast<std::size_t>(first);
  for (std::int32_t token = first; token < vocabularies_.output_size && selected.size() % 8 != 0; ++token) {
    if (next < num_selected && selected[next] == token) {
      ++next;
    } else {
      selected.push_back(token);
    }
  }
  std::inplace_merge(selected.begin(), selected.begin() + static_cast<std::ptrdiff_t>(num_selected), selected.end());
  return selected;
}

}  // namespace edgewise
