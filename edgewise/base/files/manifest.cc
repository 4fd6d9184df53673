// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/manifest.h"

#include <set>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kFormat = 1;

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

ManifestEntry read_entry(JsonScanner& json) {
  ManifestEntry file;
  bool has_size = false;
  json.read_object("a file's entry", [&](const std::string& key) {
    if (key == "name") {
      file.name = json.read_string("a file's name");
      if (!is_plain_name(file.name)) {
        json.fail_at_value(fmt::format("a file's name is {}, needs a plain one without folders", quote(file.name)));
      }
    } else if (key == "size") {
      file.size = json.read_whole_number("a file's size");
      has_size = true;
    } else if (key == "sha256") {
      file.sha256 = json.read_string("a file's sha256");
      if (!is_sha256(file.sha256)) {
        json.fail_at_value(fmt::format("a file's sha256 is {}, needs 64 hexadecimal digits", quote(file.sha256)));
      }
    } else {
      json.skip();
    }
  });
  if (file.name.empty() || file.sha256.empty() || !has_size) {
    json.fail_at_value("a file's entry ends here, needs name, size and sha256");
  }
  return file;
}

std::vector<ManifestEntry> read_entries(JsonScanner& json) {
  std::vector<ManifestEntry> files;
  std::set<std::string> names;
  json.read_array("files", [&] {
    files.push_back(read_entry(json));
    if (!names.insert(files.back().name).second) {
      json.fail_at_value(fmt::format("{} is listed twice, needs to be listed once", quote(files.back().name)));
    }
  });
  return files;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && !has_control_character(name);
}

std::string manifest_text(const Manifest& manifest) {
  std::string files;
  for (const auto& file : manifest.files) {
    files += files.empty() ? "\n    " : ",\n    ";
    files += JsonObject().add("name", file.name).add("size", file.size).add("sha256", file.sha256).text();
  }
  return fmt::format("{{\n  \"format\": {},\n  \"tool\": {},\n  \"files\": [{}\n  ]\n}}\n", kFormat,
                     quote_json(manifest.tool), files);
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  JsonScanner json(text, where);
  Manifest manifest;
  bool has_format = false;
  bool has_files = false;
  json.read_object("the manifest", [&](const std::string& key) {
    if (key == "format") {
      const std::uint64_t format = json.read_whole_number("format");
      check(format == kFormat, "{} has format {}, needs {}; use the build that wrote it", where, format, kFormat);
      has_format = true;
    } else if (key == "tool") {
      manifest.tool = json.read_string("tool");
      if (has_control_character(manifest.tool)) {
        json.fail_at_value(fmt::format("tool is {}, needs no control characters", quote(manifest.tool)));
      }
    } else if (key == "files") {
      manifest.files = read_entries(json);
      has_files = true;
    } else {
      json.skip();
    }
  });
  json.expect_end();
  check(has_format && has_files, "{} has no {}, needs format and files", where, has_format ? "files" : "format");
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& directory, std::string_view caller) {
  const std::filesystem::path path = directory / kManifestName;
  return parse_manifest(read_file(path, caller, kMaxManifestBytes), fmt::format("{}: {}", caller, path.string()));
}

}  // namespace edgewise
