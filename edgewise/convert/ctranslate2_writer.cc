// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>

#include "edgewise/base/checked.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/ctranslate2_model.h"

namespace edgewise {
namespace {

constexpr std::string_view kWriteCtranslate2 = "serialize_ctranslate2";

template <std::unsigned_integral Number>
void append_number(std::string& file, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) file += static_cast<char>(number >> (8 * i) & 0xFF);
}

void append_string(std::string& file, std::string_view text) {
  check(!text.empty() && !has_control_character(text) && text.size() < std::numeric_limits<std::uint16_t>::max(),
        "{}: a name is {}, needs UTF-8 without control characters, 1 to 65534 bytes", kWriteCtranslate2, quote(text));
  append_number(file, static_cast<std::uint16_t>(text.size() + 1));
  file += text;
  file += '\0';
}

void append_variable(std::string& file, const TensorInfo& variable) {
  check_tensor_to_write(variable, kWriteCtranslate2);
  const auto what = [&] { return fmt::format("{}: the size of {}", kWriteCtranslate2, quote(variable.name)); };
  const auto* type = std::ranges::find(detail::kCtranslate2Types, variable.dtype);
  check(type != std::end(detail::kCtranslate2Types),
        "{}: {} has elements of type {}, needs F32, F16, BF16, I8, I16 or I32", kWriteCtranslate2, quote(variable.name),
        dtype_name(variable.dtype));
  append_string(file, variable.name);
  append_number(file, static_cast<std::uint8_t>(variable.shape.size()));
  for (const std::int64_t dimension : variable.shape) append_number(file, narrow<std::uint32_t>(dimension, what()));
  append_number(file, static_cast<std::uint8_t>(type - std::begin(detail::kCtranslate2Types)));
  append_number(file, narrow<std::uint32_t>(variable.bytes.size(), what()));
  file.append(reinterpret_cast<const char*>(variable.bytes.data()), variable.bytes.size());
}

template <class Range>
std::uint32_t checked_count(const Range& range, std::string_view what) {
  check(range.size() <= detail::kMaxTensors, "{}: {} has {} entries, needs at most {}", kWriteCtranslate2, what,
        range.size(), detail::kMaxTensors);
  return static_cast<std::uint32_t>(range.size());
}

}  // namespace

std::string serialize_ctranslate2(std::string_view specification, std::uint32_t revision,
                                  std::span<const TensorInfo> variables, std::span<const Ctranslate2Alias> aliases) {
  detail::check_ctranslate2_names(variables, aliases, kWriteCtranslate2);
  std::size_t size = 1024;
  for (const TensorInfo& variable : variables) size += variable.bytes.size() + variable.name.size() + 64;
  std::string file;
  file.reserve(size);
  append_number(file, detail::kCtranslate2Version);
  append_string(file, specification);
  append_number(file, revision);
  append_number(file, checked_count(variables, "variables"));
  for (const TensorInfo& variable : variables) append_variable(file, variable);
  append_number(file, checked_count(aliases, "aliases"));
  for (const Ctranslate2Alias& alias : aliases) {
    append_string(file, alias.name);
    append_string(file, alias.variable);
  }
  return file;
}

}  // namespace edgewise
