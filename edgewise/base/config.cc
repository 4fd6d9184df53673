// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config.h"

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "edgewise/base/field_text.h"
#include "edgewise/base/files.h"
#include "edgewise/base/nearest_name.h"
#include "edgewise/base/utf8.h"

namespace edgewise::detail {
namespace {

// A TOML value as an error shows it.
std::string shown(const toml::node& node) {
  constexpr std::size_t kLongest = 60;
  if (const auto* text = node.as_string()) return in_quotes(text->get());
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (const auto* number = node.as_floating_point()) return number_text(number->get());
  if (node.is_table()) return "a section";
  const auto* list = node.as_array();
  if (list == nullptr) return "a date or time";
  std::string text;
  for (const auto& element : *list) {
    if (!text.empty()) text += ", ";
    if (text.size() > kLongest) return "[" + text + "…]";
    text += shown(element);
  }
  return "[" + text + "]";
}

bool assign_number(double& value, const toml::node& node, const Range& range) {
  const auto number = node.value<double>();
  if (!number || !(node.is_floating_point() || node.is_integer()) || !range.contains(*number)) return false;
  value = *number;
  return true;
}

template <std::signed_integral Whole>
bool assign_whole(Whole& value, const toml::node& node, const Range& range) {
  const auto* number = node.as_integer();
  if (number == nullptr || !std::in_range<Whole>(number->get())) return false;
  if (!range.contains(static_cast<double>(number->get()))) return false;
  value = static_cast<Whole>(number->get());
  return true;
}

// Takes a string of digits too, since TOML has no whole numbers of 2^63 or more.
bool assign_unsigned(std::uint64_t& value, const toml::node& node, const Range& range) {
  std::uint64_t number = 0;
  if (const auto* text = node.as_string()) {
    const char* const end = text->get().data() + text->get().size();
    const auto [stop, error] = std::from_chars(text->get().data(), end, number);
    if (error != std::errc() || stop != end) return false;
  } else if (node.is_integer() && node.as_integer()->get() >= 0) {
    number = static_cast<std::uint64_t>(node.as_integer()->get());
  } else {
    return false;
  }
  if (!range.contains(static_cast<double>(number))) return false;
  value = number;
  return true;
}

bool assign_string(std::string& value, const toml::node& node) {
  const auto* text = node.as_string();
  if (text != nullptr) value = text->get();
  return text != nullptr;
}

// Sets a field to a TOML value; false when the field does not take it.
struct Assign {
  const toml::node& node;
  const Range& range;

  bool operator()(bool* value) const {
    const auto* truth = node.as_boolean();
    if (truth != nullptr) *value = truth->get();
    return truth != nullptr;
  }
  bool operator()(int* value) const { return assign_whole(*value, node, range); }
  bool operator()(std::int64_t* value) const { return assign_whole(*value, node, range); }
  bool operator()(std::uint64_t* value) const { return assign_unsigned(*value, node, range); }
  bool operator()(double* value) const { return assign_number(*value, node, range); }
  bool operator()(std::string* value) const { return assign_string(*value, node); }

  template <class Value>
  bool operator()(std::optional<Value>* value) const {
    if (node.is_string() && node.as_string()->get() == kNone) {
      value->reset();
      return true;
    }
    Value present{};
    if (!(*this)(&present)) return false;
    *value = std::move(present);
    return true;
  }

  template <class Element>
  bool operator()(std::vector<Element>* value) const {
    if (!node.is_array()) return false;
    std::vector<Element> list;
    for (const auto& element : *node.as_array()) {
      if (!Assign{element, range}(&list.emplace_back())) return false;
    }
    *value = std::move(list);
    return true;
  }

  bool operator()(const EnumValue& value) const {
    const auto* text = node.as_string();
    if (text == nullptr) return false;
    const auto found = std::find(value.names.begin(), value.names.end(), text->get());
    if (found == value.names.end()) return false;
    value.set(static_cast<std::size_t>(found - value.names.begin()));
    return true;
  }

  bool operator()(const Section&) const { return false; }
};

const Field* find_field(const Section& section, std::string_view name) {
  for (const Field& field : section) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// Paths of all fields called `name`, wherever they are.
void find_elsewhere(const Section& section, const std::string& prefix, std::string_view name,
                    std::vector<std::string>& paths) {
  for (const Field& field : section) {
    if (field.name == name) paths.push_back(prefix + field.name);
    if (is_section(field)) find_elsewhere(std::get<Section>(field.value), prefix + field.name + ".", name, paths);
  }
}

// A key's path as it stands, or in quotes when it has more than letters, digits, '_', '-' and dots.
std::string shown_path(const std::string& path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), [](unsigned char letter) {
    return std::isalnum(letter) || letter == '_' || letter == '-' || letter == '.';
  });
  return is_plain ? path : in_quotes(path);
}

// Reads into one option struct; errors name what was read.
class Reader {
 public:
  explicit Reader(const Section& root) : root_(root) {}

  void read_text(std::string_view toml, std::string_view name) const;
  void read_override(const std::string& text) const;

 private:
  using Place = std::function<std::string(const toml::key&)>;

  void read_section(const toml::table& table, const Section& section, const std::string& prefix,
                    const Place& place) const;
  void read_value(const toml::node& node, const Field& field, const std::string& path, const std::string& place,
                  const Place& place_inside) const;
  [[noreturn]] void fail_unknown(const Section& section, const std::string& prefix, std::string_view path,
                                 const std::string& place) const;

  const Section& root_;
};

std::string position_text(std::string_view name, const toml::source_position& position) {
  return fmt::format("{}:{}:{}", name, position.line, position.column);
}

// Looks itself, because toml++ also stops at bytes that are UTF-8 but no TOML, and says the same of both.
void check_utf8(std::string_view toml, std::string_view name) {
  const auto bad = find_bad_utf8(toml);
  if (!bad) return;
  const std::string_view before = toml.substr(0, *bad);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  fail("{}:{}:{}: the text is not UTF-8, needs to be", name, line, before.size() - line_begin + 1);
}

// toml++ begins with what it was doing: "Error while parsing string: …".
std::string_view without_preamble(std::string_view description) {
  const std::size_t colon = description.find(": ");
  const bool has_preamble = description.starts_with("Error while parsing ") && colon != std::string_view::npos;
  return has_preamble ? description.substr(colon + 2) : description;
}

void Reader::read_text(std::string_view toml, std::string_view name) const {
  check_utf8(toml, name);
  toml::table table;
  try {
    table = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    fail("{}: the text is not TOML: {}", position_text(name, error.source().begin),
         without_preamble(error.description()));
  }
  read_section(table, root_, "", [name](const toml::key& key) { return position_text(name, key.source().begin); });
}

void Reader::read_section(const toml::table& table, const Section& section, const std::string& prefix,
                          const Place& place) const {
  // In the order of the file, so that the error reported is its first.
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  std::sort(entries.begin(), entries.end(), [](const auto& left, const auto& right) {
    return left.first->source().begin < right.first->source().begin;
  });
  for (const auto& [key, node] : entries) {
    const Field* field = find_field(section, key->str());
    if (field == nullptr) fail_unknown(section, prefix, key->str(), place(*key));
    read_value(*node, *field, prefix + field->name, place(*key), place);
  }
}

void Reader::read_value(const toml::node& node, const Field& field, const std::string& path, const std::string& place,
                        const Place& place_inside) const {
  if (is_section(field) && node.is_table()) {
    read_section(*node.as_table(), std::get<Section>(field.value), path + ".", place_inside);
    return;
  }
  const bool is_assigned = std::visit(Assign{node, field.range}, field.value);
  if (!is_assigned) fail("{}: {} is {}, needs {}", place, path, shown(node), needs_text(field));
}

// `path` is what the section should have led to; its first component is what it has not.
void Reader::fail_unknown(const Section& section, const std::string& prefix, std::string_view path,
                          const std::string& place) const {
  const std::string_view name = path.substr(0, path.find('.'));
  std::vector<std::string> names;
  for (const Field& field : section) names.push_back(field.name);
  std::vector<std::string> elsewhere;
  find_elsewhere(root_, "", name, elsewhere);
  const std::string unknown = fmt::format("{}: {} is unknown", place, shown_path(prefix + std::string(path)));
  if (const auto nearest = nearest_name(name, names)) {
    fail("{}; did you mean {}{}{}?", unknown, prefix, *nearest, path.substr(name.size()));
  }
  if (!elsewhere.empty()) fail("{}; did you mean {}?", unknown, elsewhere.front());
  for (std::string& known : names) known.insert(0, prefix);
  fail("{}; known are {}", unknown, fmt::join(names, ", "));
}

// The value of `key=value` as TOML; text where it is not TOML, unless it was clearly meant to be.
toml::table override_table(std::string_view value, bool is_text, const std::string& place) {
  constexpr std::string_view kQuotes = "\"'";
  constexpr std::string_view kOpenings = "\"'[{";
  const auto begins_with = [&](std::string_view any_of) {
    return !value.empty() && any_of.find(value[0]) != std::string_view::npos;
  };
  if (!is_text || begins_with(kQuotes)) {
    try {
      toml::table table = toml::parse(fmt::format("value = {}", value));
      if (table.size() == 1) return table;
    } catch (const toml::parse_error&) {
      check(!begins_with(kOpenings), "{}: the value is {}, needs TOML; close what it opens", place, in_quotes(value));
    }
  }
  return toml::table{{"value", std::string(value)}};
}

void Reader::read_override(const std::string& text) const {
  std::string place = fmt::format("--set {}", text);
  const std::size_t equals = text.find('=');
  check(equals != std::string::npos && equals > 0, "{}: no value is given, needs section.key=value", place);
  std::string_view rest = std::string_view(text).substr(0, equals);
  const Section* section = &root_;
  std::string prefix;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    const Field* field = find_field(*section, name);
    if (field == nullptr) fail_unknown(*section, prefix, rest, place);
    if (dot == std::string_view::npos) {
      const auto table = override_table(std::string_view(text).substr(equals + 1), takes_text(*field), place);
      read_value(*table.get("value"), *field, prefix + field->name, place, [&](const toml::key&) { return place; });
      return;
    }
    check(is_section(*field), "{}: {}{} is no section, needs {}", place, prefix, name, needs_text(*field));
    section = &std::get<Section>(field->value);
    prefix += field->name + ".";
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace

void read_fields(const Section& fields, std::string_view toml, std::string_view name,
                 std::span<const std::string> overrides) {
  const Reader reader(fields);
  reader.read_text(toml, name);
  for (const std::string& text : overrides) reader.read_override(text);
}

std::string read_config_file(const std::filesystem::path& file) { return read_file(file, "read_config"); }

}  // namespace edgewise::detail
