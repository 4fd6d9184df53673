// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/protobuf_walk.h"

#include <bit>
#include <cstddef>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

class Walker {
 public:
  Walker(std::string_view message, std::string_view where) : message_(message), where_(where) {}

  bool is_at_end() const { return position_ == message_.size(); }

  WireField next() {
    constexpr std::uint64_t kMaxTag = UINT32_MAX;
    const std::size_t begin = position_;
    const std::uint64_t tag = read_varint();
    WireField field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    check(tag <= kMaxTag && field.number > 0, "{} has field number {} at byte {}, needs 1 to 536870911", where_,
          tag >> 3, begin);
    switch (tag & 7) {
      case 0:
        field.value = read_varint();
        break;
      case 1:
        field.value = read_fixed(8);
        break;
      case 2:
        field.bytes = take(read_varint());
        break;
      case 5:
        field.value = read_fixed(4);
        break;
      default:
        fail("{} has wire type {} at byte {}, needs 0, 1, 2 or 5", where_, tag & 7, begin);
    }
    field.type = static_cast<WireField::Type>(tag & 7);
    return field;
  }

 private:
  std::string_view take(std::uint64_t size) {
    check(size <= message_.size() - position_,
          "{} has a field of {} bytes at byte {}, needs at most the {} that are left; the file was cut, copy it again",
          where_, size, position_, message_.size() - position_);
    const std::string_view bytes = message_.substr(position_, size);
    position_ += bytes.size();
    return bytes;
  }

  std::uint64_t read_varint() {
    constexpr int kMaxBytes = 10;
    const std::size_t begin = position_;
    std::uint64_t value = 0;
    for (int i = 0; i < kMaxBytes; ++i) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
      if (byte < 0x80) return value;
    }
    fail("{} has a number of more than {} bytes at byte {}, needs at most {}", where_, kMaxBytes, begin, kMaxBytes);
  }

  std::uint64_t read_fixed(std::size_t size) {
    const std::string_view bytes = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }

  std::string_view message_;
  std::string_view where_;
  std::size_t position_ = 0;
};

}  // namespace

float WireField::as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }

void walk_message(std::string_view message, std::string_view where,
                  const std::function<void(const WireField&)>& visit) {
  Walker walker(message, where);
  while (!walker.is_at_end()) visit(walker.next());
}

}  // namespace edgewise
