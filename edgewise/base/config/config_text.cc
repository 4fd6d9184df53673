// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/config/field_text.h"

namespace edgewise::detail {
namespace {

void write_section(std::string& toml, const Section& section, const std::string& prefix, TomlComments comments) {
  const auto write_help = [&](const Field& field) {
    if (comments == TomlComments::kNone) return;
    toml += "# " + field.help + (is_section(field) ? "\n" : "; " + requirement_text(field) + "\n");
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

void append_settings(const Section& section, const std::string& prefix,
                     std::vector<std::pair<std::string, std::string>>& settings) {
  for (const Field& field : section) {
    const std::string path = prefix + field.name;
    if (is_section(field)) {
      append_settings(std::get<Section>(field.value), path + ".", settings);
    } else {
      settings.emplace_back(path, value_text(field, path));
    }
  }
}

}  // namespace

std::string write_fields(const Section& fields, TomlComments comments) {
  std::string toml;
  write_section(toml, fields, "", comments);
  return toml;
}

std::vector<std::pair<std::string, std::string>> settings(const Section& fields) {
  std::vector<std::pair<std::string, std::string>> settings;
  append_settings(fields, "", settings);
  return settings;
}

}  // namespace edgewise::detail
