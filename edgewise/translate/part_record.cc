// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/part_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/json.h"
#include "edgewise/base/json_scanner.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kFormat = 1;
constexpr std::string_view kNeeded[] = {"format",   "program",     "shard",        "shards", "inputs",  "begin",
                                        "end",      "input_lines", "input_sha256", "models", "options", "kernels",
                                        "complete", "lines",       "bytes",        "sha256"};

std::string input_json(const PartInput& input) {
  return JsonObject().add("path", input.path).add("size", input.size).add("sha256", input.sha256).text();
}

std::string read_sum(JsonScanner& json) {
  std::string sum = json.read_string("sha256");
  const bool is_sum = sum.size() == 64 && sum.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_sum) json.fail_at_value(fmt::format("sha256 is {}, needs 64 hexadecimal digits", quote(sum)));
  return sum;
}

std::int64_t read_count(JsonScanner& json, std::string_view what) {
  const std::uint64_t count = json.read_whole_number(what);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (count > std::uint64_t{kMost}) json.fail_at_value(fmt::format("{} is {}, needs at most {}", what, count, kMost));
  return static_cast<std::int64_t>(count);
}

PartInput read_input(JsonScanner& json) {
  PartInput input;
  bool has_size = false;
  json.read_object("an input", [&](const std::string& key) {
    if (key == "path") {
      input.path = json.read_string("an input's path");
    } else if (key == "size") {
      input.size = json.read_whole_number("an input's size");
      has_size = true;
    } else if (key == "sha256") {
      input.sha256 = read_sum(json);
    } else {
      json.skip();
    }
  });
  if (input.path.empty() || input.sha256.empty() || !has_size) {
    json.fail_at_value("an input ends here, needs path, size and sha256");
  }
  return input;
}

/// Reads the value of a key. Returns false for an unknown key.
bool read_member(JsonScanner& json, const std::string& key, PartRecord& record) {
  if (key == "format") {
    const std::uint64_t format = json.read_whole_number("format");
    if (format != kFormat) {
      json.fail_at_value(fmt::format("format is {}, needs {}; use the program that wrote it", format, kFormat));
    }
  } else if (key == "program") {
    record.program = json.read_string("program");
  } else if (key == "shard") {
    record.shard = read_count(json, "shard");
  } else if (key == "shards") {
    record.shards = read_count(json, "shards");
  } else if (key == "inputs") {
    json.read_array("inputs", [&] { record.inputs.push_back(read_input(json)); });
  } else if (key == "begin") {
    record.begin = json.read_whole_number("begin");
  } else if (key == "end") {
    record.end = json.read_whole_number("end");
  } else if (key == "input_lines") {
    record.input_lines = read_count(json, "input_lines");
  } else if (key == "input_sha256") {
    record.input_sha256 = read_sum(json);
  } else if (key == "models") {
    json.read_array("models", [&] { record.models.push_back(read_sum(json)); });
  } else if (key == "options") {
    json.read_object("options", [&](const std::string& name) {
      std::string value = json.read_string("an option");
      record.options.emplace_back(name, std::move(value));
    });
  } else if (key == "kernels") {
    record.kernels = json.read_string("kernels");
  } else if (key == "complete") {
    record.is_complete = json.read_boolean("complete");
  } else if (key == "lines") {
    record.lines = read_count(json, "lines");
  } else if (key == "bytes") {
    record.bytes = json.read_whole_number("bytes");
  } else if (key == "sha256") {
    record.sha256 = read_sum(json);
  } else {
    return false;
  }
  return true;
}

void check_record(const PartRecord& record, const std::string& where) {
  check(record.shards >= 1 && record.shards <= kMaxShards, "{}: shards is {}, needs a number from 1 to {}", where,
        record.shards, kMaxShards);
  check(record.shard < record.shards, "{}: shard is {}, needs at most {}", where, record.shard, record.shards - 1);
  check(record.begin <= record.end, "{}: begin is {}, needs at most {}, the end", where, record.begin, record.end);
  const auto require_at_most = [&](std::string_view name, std::int64_t value, std::uint64_t most,
                                   std::string_view what) {
    check(std::cmp_less_equal(value, most), "{}: {} is {}, needs at most {}, {}", where, name, value, most, what);
  };
  require_at_most("input_lines", record.input_lines, record.end - record.begin, "the bytes from begin to end");
  require_at_most("lines", record.lines, record.bytes, "the bytes");
  require_at_most("lines", record.lines, static_cast<std::uint64_t>(record.input_lines), "the input_lines");
  check(!record.is_complete || record.lines == record.input_lines,
        "{}: complete is true and lines is {}, needs {}, the input_lines", where, record.lines, record.input_lines);
  check(record.bytes == 0 || record.lines > 0, "{}: lines is 0 and bytes is {}, needs lines", where, record.bytes);
}

template <class Value>
std::string differs(std::string_view name, const Value& has, const Value& needs) {
  return fmt::format("has {} {}, needs {}", name, has, needs);
}

std::optional<std::string> input_difference(const PartRecord& record, const PartRecord& needed) {
  if (record.inputs.size() != needed.inputs.size()) {
    return fmt::format("has {} input files, needs {}", record.inputs.size(), needed.inputs.size());
  }
  for (std::size_t i = 0; i < needed.inputs.size(); ++i) {
    const PartInput& input = record.inputs[i];
    const std::string path = quote_unless_plain(needed.inputs[i].path);
    if (input.size != needed.inputs[i].size) {
      return fmt::format("has an input {} of {} bytes, needs {} bytes", path, input.size, needed.inputs[i].size);
    }
    if (input.sha256 != needed.inputs[i].sha256) return fmt::format("has an input {} with other contents", path);
  }
  return std::nullopt;
}

std::optional<std::string> option_difference(const PartRecord& record, const PartRecord& needed) {
  const auto value_of = [](const PartRecord& all, const std::string& name) {
    const auto found = std::ranges::find(all.options, name, [](const auto& option) { return option.first; });
    return found == all.options.end() ? "none" : found->second;
  };
  std::set<std::string> names;
  for (const PartRecord* all : {&record, &needed}) {
    for (const auto& [name, value] : all->options) names.insert(name);
  }
  for (const std::string& name : names) {
    const std::string has = value_of(record, name);
    const std::string needs = value_of(needed, name);
    if (has != needs) return differs(quote_unless_plain(name), quote_unless_plain(has), quote_unless_plain(needs));
  }
  return std::nullopt;
}

}  // namespace

std::vector<PartInput> part_inputs(const ShardedText& text) {
  std::vector<PartInput> inputs;
  for (const ShardedText::File& file : text.files()) inputs.push_back({file.path, file.size, file.sha256});
  return inputs;
}

std::string part_record_text(const PartRecord& record) {
  JsonObject options;
  for (const auto& [name, value] : record.options) options.add(name, value);
  const JsonObject text = JsonObject()
                              .add("format", kFormat)
                              .add("program", record.program)
                              .add("shard", record.shard)
                              .add("shards", record.shards)
                              .add_json("inputs", json_array(record.inputs, input_json))
                              .add("begin", record.begin)
                              .add("end", record.end)
                              .add("input_lines", record.input_lines)
                              .add("input_sha256", record.input_sha256)
                              .add_json("models", json_array(record.models, quote_json))
                              .add_json("options", options.text())
                              .add("kernels", record.kernels)
                              .add("complete", record.is_complete)
                              .add("lines", record.lines)
                              .add("bytes", record.bytes)
                              .add("sha256", record.sha256);
  return text.text() + "\n";
}

PartRecord parse_part_record(std::string_view text, const std::string& where) {
  JsonScanner json(text, where);
  PartRecord record;
  std::set<std::string> keys;
  json.read_object("the record", [&](const std::string& key) {
    if (read_member(json, key, record)) {
      keys.insert(key);
    } else {
      json.skip();
    }
  });
  json.expect_end();
  for (const std::string_view key : kNeeded)
    check(keys.contains(std::string(key)), "{} has no {}, needs it", where, key);
  check_record(record, where);
  return record;
}

std::optional<std::string> part_difference(const PartRecord& record, const PartRecord& needed) {
  if (record.shards != needed.shards) return differs("shards", record.shards, needed.shards);
  if (auto difference = input_difference(record, needed)) return difference;
  if (record.models.size() != needed.models.size()) {
    return fmt::format("has {} models, needs {}", record.models.size(), needed.models.size());
  }
  if (record.models != needed.models) return "has another model";
  if (auto difference = option_difference(record, needed)) return difference;
  if (record.program != needed.program) {
    return differs("program", quote_unless_plain(record.program), quote_unless_plain(needed.program));
  }
  return std::nullopt;
}

}  // namespace edgewise
