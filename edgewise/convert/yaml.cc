// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <optional>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 25;
constexpr std::size_t kMaxYamlDepth = 16;
constexpr std::size_t kMaxYamlValues = 1'000'000;

// Line breaks of YAML 1.1, in UTF-8.
constexpr std::string_view kOldLineBreaks[] = {"\u0085", "\u2028", "\u2029"};

void check_line_breaks(std::string_view text, std::string_view where) {
  for (const std::string_view line_break : kOldLineBreaks) {
    const std::size_t position = text.find(line_break);
    if (position == std::string_view::npos) continue;
    fail("{}, line {}: the text has a line break U+{:04X} of YAML 1.1, needs an escape in double quotes", where,
         std::ranges::count(text.substr(0, position), '\n') + 1,
         static_cast<std::uint32_t>(code_point_at(line_break, 0).value));
  }
}

bool needs_escape(std::string_view character, char32_t value) {
  const bool is_line_break = std::ranges::find(kOldLineBreaks, character) != std::end(kOldLineBreaks);
  const bool is_refused = value == 0xFEFF || value == 0xFFFE || value == 0xFFFF;  // by libyaml, at some positions
  return is_line_break || is_refused || has_control_character(character);
}

std::string_view view_of(const yaml_char_t* text) { return reinterpret_cast<const char*>(text); }

struct YamlEvent {
  YamlEvent() = default;
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  ~YamlEvent() { yaml_event_delete(&event); }

  yaml_event_t event{};
};

class YamlReader {
 public:
  YamlReader(std::string_view text, std::string_view where) : where_(where) {
    check(yaml_parser_initialize(&parser_) == 1, "{}: the YAML parser cannot start, needs more memory", where);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  ~YamlReader() { yaml_parser_delete(&parser_); }

  YamlValue read() {
    bool is_at_end = false;
    while (!is_at_end) {
      YamlEvent next;
      if (yaml_parser_parse(&parser_, &next.event) == 0) fail_to_parse();
      line_ = next.event.start_mark.line + 1;
      is_at_end = next.event.type == YAML_STREAM_END_EVENT;
      take(next.event);
    }
    check(root_.has_value(), "{} has no value, needs a map or list", where_);
    return std::move(*root_);
  }

 private:
  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return take_scalar(event.data.scalar);
      case YAML_SEQUENCE_START_EVENT:
        return open({.kind = YamlValue::Kind::kList}, event.data.sequence_start.anchor, event.data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        return open({.kind = YamlValue::Kind::kMap}, event.data.mapping_start.anchor, event.data.mapping_start.tag);
      case YAML_MAPPING_END_EVENT:
        check_keys(*open_.back());
        return open_.pop_back();
      case YAML_SEQUENCE_END_EVENT:
        return open_.pop_back();
      case YAML_ALIAS_EVENT:
        fail_at_line(fmt::format("the value is the alias {}", quote(view_of(event.data.alias.anchor))));
      default:
        return;  // begin and end of the stream and the document
    }
  }

  template <class Scalar>
  void take_scalar(const Scalar& scalar) {
    std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    check_plain_node(scalar.anchor, scalar.tag);
    if (is_key_next()) {
      open_.back()->keys.push_back(std::move(text));
    } else {
      add({.text = std::move(text)});
    }
  }

  void open(YamlValue value, const yaml_char_t* anchor, const yaml_char_t* tag) {
    check_plain_node(anchor, tag);
    if (is_key_next()) fail_at_line("a key is a list or map");
    if (open_.size() == kMaxYamlDepth) {
      fail("{}, line {}: values are nested too deep, needs at most {} levels", where_, line_, kMaxYamlDepth);
    }
    open_.push_back(add(std::move(value)));
  }

  // The address of the value stays valid until the next value is added to the same list or map.
  YamlValue* add(YamlValue value) {
    check(++num_values_ <= kMaxYamlValues, "{} has more than {} values, needs at most as many", where_, kMaxYamlValues);
    value.line = line_;
    if (!open_.empty()) return &open_.back()->items.emplace_back(std::move(value));
    if (root_) fail_at_line("a second document begins");
    return &root_.emplace(std::move(value));
  }

  bool is_key_next() const {
    return !open_.empty() && open_.back()->kind == YamlValue::Kind::kMap &&
           open_.back()->keys.size() == open_.back()->items.size();
  }

  void check_plain_node(const yaml_char_t* anchor, const yaml_char_t* tag) const {
    if (anchor != nullptr) fail_at_line(fmt::format("the value has the anchor {}", quote(view_of(anchor))));
    if (tag != nullptr) fail_at_line(fmt::format("the value has the tag {}", quote(view_of(tag))));
  }

  void check_keys(const YamlValue& map) const {
    std::vector<std::string_view> keys(map.keys.begin(), map.keys.end());
    std::ranges::sort(keys);
    const auto twin = std::ranges::adjacent_find(keys);
    if (twin == keys.end()) return;
    fail("{}, line {}: the map has the key {} twice, needs it once", where_, map.line, quote(*twin));
  }

  [[noreturn]] void fail_at_line(std::string_view what) const {
    fail("{}, line {}: {}, needs a single document without anchors, aliases, tags and nested keys", where_, line_,
         what);
  }

  [[noreturn]] void fail_to_parse() const {
    fail("{}, line {}: the text is no YAML ({}), needs to be", where_, parser_.problem_mark.line + 1,
         parser_.problem == nullptr ? "not enough memory" : parser_.problem);
  }

  std::string_view where_;
  yaml_parser_t parser_{};
  std::size_t line_ = 0;
  std::size_t num_values_ = 0;
  std::optional<YamlValue> root_;
  std::vector<YamlValue*> open_;  // the lists and maps that contain the next value, the innermost one last
};

}  // namespace

const YamlValue* YamlValue::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

YamlValue read_yaml(const std::filesystem::path& path, std::string_view caller) {
  const std::string text = read_file(path, caller, kMaxYamlBytes);
  return parse_yaml(text, fmt::format("{}: {}", caller, path.string()));
}

YamlValue parse_yaml(std::string_view text, std::string_view where) {
  check(!text.empty() && text.size() <= kMaxYamlBytes, "{} has {} bytes, needs 1 to {}", where, text.size(),
        kMaxYamlBytes);
  const auto bad = find_bad_utf8(text);
  check(!bad, "{} is not UTF-8 at byte {}, needs to be", where, bad.value_or(0));
  check_line_breaks(text, where);
  return YamlReader(text, where).read();
}

std::string quote_yaml(std::string_view text) {
  std::string quoted = "\"";
  for_each_code_point(text, [&](CodePoint point, std::size_t offset) {
    check(point.size > 0, "quote_yaml: text is {}, needs UTF-8", quote(text));
    const std::string_view character = text.substr(offset, point.size);
    if (character == "\"" || character == "\\") {
      quoted += '\\';
      quoted += character;
    } else if (needs_escape(character, point.value)) {
      quoted += fmt::format("\\u{:04X}", static_cast<std::uint32_t>(point.value));
    } else {
      quoted += character;
    }
  });
  return quoted + '"';
}

}  // namespace edgewise
