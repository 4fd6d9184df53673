# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source that contains the text of files, for viz/page.h:
#   cmake -DOUTPUT=pages.cc "-DFILES=pages/attention.js;…" -P embed.cmake
set(entries "")
foreach(path ${FILES})
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" text)
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed.cmake.
#include <map>

#include \"edgewise/base/error.h\"
#include \"edgewise/viz/page.h\"

namespace edgewise {

std::string_view page_file(std::string_view name) {
  static const std::map<std::string_view, std::string_view> files = {
${entries}  };
  const auto found = files.find(name);
  check(found != files.end(), \"page_file: name is {}, needs that of a file in viz/pages\", name);
  return found->second;
}

}  // namespace edgewise
")
