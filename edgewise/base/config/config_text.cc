// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/config/field_text.h"

namespace edgewise::detail {
namespace {

std::string help_text(const Field& field) {
  return is_section(field) ? field.help : fmt::format("{}; {}", field.help, requirement_text(field));
}

void write_section(std::string& toml, const Section& section, const std::string& prefix, TomlComments comments) {
  const auto write_help = [&](const Field& field) {
    if (comments == TomlComments::kHelp) toml += fmt::format("# {}\n", help_text(field));
  };
  for (const Field& field : section) {
    if (is_section(field)) continue;
    write_help(field);
    toml += fmt::format("{} = {}\n", field.name, value_text(field, prefix + field.name));
  }
  // Sections come last: lines after a section header belong to that section.
  for (const Field& field : section) {
    if (!is_section(field)) continue;
    if (!toml.empty()) toml += '\n';
    write_help(field);
    toml += fmt::format("[{}{}]\n", prefix, field.name);
    write_section(toml, std::get<Section>(field.value), prefix + field.name + ".", comments);
  }
}

// Calls `visit(path, field)` for each field that is not a section.
template <class Visit>
void for_each_field(const Section& section, const std::string& prefix, const Visit& visit) {
  for (const Field& field : section) {
    const std::string path = prefix + field.name;
    if (is_section(field)) {
      for_each_field(std::get<Section>(field.value), path + ".", visit);
    } else {
      visit(path, field);
    }
  }
}

}  // namespace

std::string write_fields(const Section& fields, TomlComments comments) {
  std::string toml;
  write_section(toml, fields, "", comments);
  return toml;
}

std::string describe(const Section& fields) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::size_t width = 0;
  for_each_field(fields, "", [&](const std::string& path, const Field& field) {
    lines.emplace_back(fmt::format("{} = {}", path, value_text(field, path)), help_text(field));
    width = std::max(width, lines.back().first.size());
  });
  std::string text;
  for (const auto& [setting, help] : lines) text += fmt::format("{:<{}}  {}\n", setting, width, help);
  return text;
}

std::vector<std::pair<std::string, std::string>> settings(const Section& fields) {
  std::vector<std::pair<std::string, std::string>> settings;
  for_each_field(fields, "", [&](const std::string& path, const Field& field) {
    settings.emplace_back(path, value_text(field, path));
  });
  return settings;
}

}  // namespace edgewise::detail
