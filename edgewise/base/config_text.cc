// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "edgewise/base/config.h"
#include "edgewise/base/field_text.h"

namespace edgewise::detail {
namespace {

std::string help_of(const Field& field) {
  return is_section(field) ? field.help : fmt::format("{}; {}", field.help, needs_text(field));
}

void write_section(std::string& toml, const Section& section, const std::string& prefix, TomlComments comments) {
  const auto write_help = [&](const Field& field) {
    if (comments == TomlComments::kHelp) toml += fmt::format("# {}\n", help_of(field));
  };
  for (const Field& field : section) {
    if (is_section(field)) continue;
    write_help(field);
    toml += fmt::format("{} = {}\n", field.name, value_text(field, prefix + field.name));
  }
  // After its plain fields, since what stands behind a header belongs to that section.
  for (const Field& field : section) {
    if (!is_section(field)) continue;
    if (!toml.empty()) toml += '\n';
    write_help(field);
    toml += fmt::format("[{}{}]\n", prefix, field.name);
    write_section(toml, std::get<Section>(field.value), prefix + field.name + ".", comments);
  }
}

// A field's default, and what it means.
using HelpLine = std::pair<std::string, std::string>;

void collect_help(std::vector<HelpLine>& lines, const Section& section, const std::string& prefix) {
  for (const Field& field : section) {
    const std::string path = prefix + field.name;
    if (is_section(field)) {
      collect_help(lines, std::get<Section>(field.value), path + ".");
    } else {
      lines.emplace_back(fmt::format("{} = {}", path, value_text(field, path)), help_of(field));
    }
  }
}

using Setting = std::pair<std::string, std::string>;

void collect_settings(std::vector<Setting>& settings, const Section& section, const std::string& prefix) {
  for (const Field& field : section) {
    const std::string path = prefix + field.name;
    if (is_section(field)) {
      collect_settings(settings, std::get<Section>(field.value), path + ".");
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

std::string describe(const Section& fields) {
  std::vector<HelpLine> lines;
  collect_help(lines, fields, "");
  std::size_t width = 0;
  for (const auto& [setting, help] : lines) width = std::max(width, setting.size());
  std::string text;
  for (const auto& [setting, help] : lines) text += fmt::format("{:<{}}  {}\n", setting, width, help);
  return text;
}

std::vector<Setting> settings(const Section& fields) {
  std::vector<Setting> found;
  collect_settings(found, fields, "");
  return found;
}

}  // namespace edgewise::detail
