// SPDX-License-Identifier: Apache-2.0
// Reads event files with a second implementation of TensorFlow's TFRecord format and of the protobuf wire format.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/train/event_file.h"

namespace edgewise {

template <typename Number>
Number take(std::string_view& bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof(Number));
  bytes.remove_prefix(sizeof(Number));
  return value;
}

inline std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<unsigned char>(bytes);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

/// The values of a field in their order: numbers, or bytes for length-delimited fields.
using Values = std::vector<std::variant<std::uint64_t, std::string>>;
using Fields = std::map<std::uint64_t, Values>;

inline Fields fields_of_message(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    Values& values = fields[key >> 3];
    switch (key & 7) {
      case 0:
        values.emplace_back(take_varint(bytes));
        break;
      case 1:
        values.emplace_back(take<std::uint64_t>(bytes));
        break;
      case 5:
        values.emplace_back(std::uint64_t{take<std::uint32_t>(bytes)});
        break;
      default: {
        const std::uint64_t size = take_varint(bytes);
        values.emplace_back(std::string(bytes.substr(0, size)));
        bytes.remove_prefix(size);
      }
    }
  }
  return fields;
}

inline std::uint64_t number(const Fields& fields, std::uint64_t field) {
  return fields.contains(field) ? std::get<std::uint64_t>(fields.at(field).at(0)) : 0;
}
inline std::string bytes(const Fields& fields, std::uint64_t field) {
  return fields.contains(field) ? std::get<std::string>(fields.at(field).at(0)) : "";
}
inline double real(const Fields& fields, std::uint64_t field) { return std::bit_cast<double>(number(fields, field)); }

/// Returns the numbers of a packed field.
inline std::vector<double> reals(const Fields& fields, std::uint64_t field) {
  const std::string packed = bytes(fields, field);
  std::string_view rest = packed;
  std::vector<double> numbers;
  while (!rest.empty()) numbers.push_back(take<double>(rest));
  return numbers;
}

inline std::vector<Fields> read_events(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  std::string_view rest = text;
  std::vector<Fields> events;
  const auto mask = [](std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8; };
  while (!rest.empty()) {
    const std::string_view head = rest.substr(0, 8);
    const auto size = take<std::uint64_t>(rest);
    EXPECT_EQ(take<std::uint32_t>(rest), mask(crc32c(head)));
    const std::string_view event = rest.substr(0, size);
    rest.remove_prefix(size);
    EXPECT_EQ(take<std::uint32_t>(rest), mask(crc32c(event)));
    events.push_back(fields_of_message(event));
  }
  return events;
}

/// The values of each tag with their steps, over all event files of a run in the order of the files' names.
struct RunEvents {
  std::map<std::string, std::vector<std::pair<std::uint64_t, float>>> scalars;
  std::map<std::string, std::vector<std::pair<std::uint64_t, Fields>>> histograms;
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::string>>> texts;

  /// Returns the steps of each scalar.
  std::map<std::string, std::vector<std::uint64_t>> steps() const {
    std::map<std::string, std::vector<std::uint64_t>> steps;
    for (const auto& [tag, values] : scalars) {
      for (const auto& [step, value] : values) steps[tag].push_back(step);
    }
    return steps;
  }
};

inline RunEvents read_run_events(const std::filesystem::path& run) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) files.insert(entry.path());
  }
  RunEvents events;
  for (const auto& file : files) {
    for (const Fields& event : read_events(file)) {
      const Fields summary = fields_of_message(bytes(event, 5));
      if (!summary.contains(1)) continue;
      const std::uint64_t step = number(event, 2);
      for (const auto& value : summary.at(1)) {
        const Fields fields = fields_of_message(std::get<std::string>(value));
        const std::string tag = bytes(fields, 1);
        if (fields.contains(2)) {
          events.scalars[tag].emplace_back(step, std::bit_cast<float>(static_cast<std::uint32_t>(number(fields, 2))));
        }
        if (fields.contains(5)) events.histograms[tag].emplace_back(step, fields_of_message(bytes(fields, 5)));
        if (fields.contains(8)) events.texts[tag].emplace_back(step, bytes(fields_of_message(bytes(fields, 8)), 8));
      }
    }
  }
  return events;
}

/// Returns the steps and tags of a run's events. Gradients are left out: a process has none before its first step.
inline std::multiset<std::pair<std::uint64_t, std::string>> steps_and_tags(const std::filesystem::path& run) {
  std::multiset<std::pair<std::uint64_t, std::string>> found;
  const auto add = [&found](const auto& values_by_tag) {
    for (const auto& [tag, values] : values_by_tag) {
      if (tag.starts_with("gradient")) continue;
      for (const auto& [step, value] : values) found.emplace(step, tag);
    }
  };
  const RunEvents events = read_run_events(run);
  add(events.scalars);
  add(events.histograms);
  add(events.texts);
  return found;
}

}  // namespace edgewise
