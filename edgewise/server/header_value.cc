// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/header_value.h"

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// Reads the parameters behind the first semicolon of a header.
class HeaderParameters {
 public:
  HeaderParameters(std::string_view rest, std::string_view name) : rest_(rest), name_(name) {}

  std::map<std::string, std::string, std::less<>> read() {
    std::map<std::string, std::string, std::less<>> parameters;
    while (!trim_ascii(rest_).empty()) {
      const std::size_t equals = rest_.find('=');
      require(equals != std::string_view::npos);
      const std::string parameter = lower_ascii(trim_ascii(rest_.substr(0, equals)));
      rest_ = trim_ascii(rest_.substr(equals + 1));
      require(!parameter.empty() && parameter.find_first_of(";\"") == std::string::npos);
      require(parameters.emplace(parameter, rest_.starts_with('"') ? read_quoted() : read_plain()).second);
    }
    return parameters;
  }

 private:
  std::string read_plain() {
    const std::size_t end = std::min(rest_.find(';'), rest_.size());
    std::string value(trim_ascii(rest_.substr(0, end)));
    require(!value.empty() && value.find('"') == std::string::npos);
    skip_semicolon(end);
    return value;
  }

  /// A backslash before the last quotation mark is text: browsers do not escape backslashes in names of fields.
  std::string read_quoted() {
    std::string value;
    std::size_t i = 1;
    for (; i < rest_.size() && rest_[i] != '"'; ++i) {
      if (rest_[i] == '\\' && rest_.find('"', i + 2) != std::string_view::npos) ++i;
      value += rest_[i];
    }
    require(i < rest_.size());
    skip_semicolon(i + 1);
    return value;
  }

  /// Removes the text before `end`, and a semicolon behind it.
  void skip_semicolon(std::size_t end) {
    rest_ = trim_ascii(rest_.substr(end));
    require(rest_.empty() || rest_.starts_with(';'));
    if (!rest_.empty()) rest_.remove_prefix(1);
  }

  void require(bool condition) const {
    check(condition, "request: {} has malformed parameters at {}, needs name=value, each once", name_, quote(rest_));
  }

  std::string_view rest_;
  std::string_view name_;
};

}  // namespace

HeaderValue parse_header_value(std::string_view text, std::string_view name) {
  const std::size_t end = std::min(text.find(';'), text.size());
  return {lower_ascii(trim_ascii(text.substr(0, end))),
          HeaderParameters(text.substr(std::min(end + 1, text.size())), name).read()};
}

}  // namespace edgewise
