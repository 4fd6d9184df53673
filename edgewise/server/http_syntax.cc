// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http_syntax.h"

#include <algorithm>

#include "edgewise/base/ascii.h"

namespace edgewise {
namespace {

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return (code < 0x20 && character != '\t') || code == 0x7f;
}

std::string check_line(std::string_view line) {
  if (std::ranges::any_of(line, is_control)) return "a control character in the head";
  return {};
}

std::string check_field(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return "a folded header field";
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return "a header field without a name";
  if (line[colon - 1] == ' ' || line[colon - 1] == '\t') return "white space before the colon of a header field";
  return check_line(line);
}

/// Returns where the host of a target in absolute form begins, or 0.
std::size_t find_host(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (equal_without_case(target.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

std::size_t find_head_end(std::string_view bytes) {
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n', end + 1)) {
    if (end == 0 || bytes[end - 1] != '\r') return end + 1;
    if (end == 1 || (end >= 3 && bytes.substr(end - 3, 4) == "\r\n\r\n")) return end + 1;
  }
  return 0;
}

std::string check_head(std::string_view head) {
  if (!head.ends_with("\r\n")) return "a line without CR LF at its end";
  if (head == "\r\n") return "an empty line before the request";
  head.remove_suffix(2);
  for (bool is_first = true; !head.empty(); is_first = false) {
    const std::size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return "a line without CR LF at its end";
    const std::string_view line = head.substr(0, end);
    if (std::string wrong = is_first ? check_line(line) : check_field(line); !wrong.empty()) return wrong;
    head.remove_prefix(end + 2);
  }
  return {};
}

bool is_host(std::string_view text) {
  constexpr std::string_view kOthers = "-._~%!$&'()*+;=:[]";  // RFC 3986, section 3.2.2
  return std::ranges::all_of(text, [&](char character) {
    return is_alphanumeric_of_ascii(character) || kOthers.find(character) != kOthers.npos;
  });
}

std::pair<std::string, std::string> divide_target(std::string_view target) {
  if (target == "*") return {"*", ""};
  if (target.find('#') != std::string_view::npos) return {};
  if (const std::size_t host = find_host(target); host > 0) {
    const std::size_t path = std::min(target.find_first_of("/?", host), target.size());
    if (path == host) return {};
    target.remove_prefix(path);
    if (target.empty()) return {"/", ""};
    if (target.front() == '?') return {"/", std::string(target.substr(1))};
  }
  if (!target.starts_with('/')) return {};
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {std::string(target), ""};
  return {std::string(target.substr(0, mark)), std::string(target.substr(mark + 1))};
}

}  // namespace edgewise
