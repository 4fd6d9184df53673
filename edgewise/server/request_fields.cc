// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/request_fields.h"

#include <charconv>

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// Reads the parameters after the first semicolon of a header.
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

  /// Removes the text before `end`, and a semicolon after it.
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

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMaxPartHeaders = 8192;  // bytes
constexpr std::size_t kMaxBoundary = 70;       // RFC 2046, section 5.1.1

char decode_escape(std::string_view text, std::size_t offset, std::string_view what) {
  const std::string_view digits = text.substr(offset + 1, 2);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  check(error == std::errc() && end == digits.data() + 2, "request: {} has {}, needs two hexadecimal digits after %",
        what, quote(text.substr(offset, 3)));
  return static_cast<char>(value);
}

std::string decode_component(std::string_view text, std::string_view what) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      decoded += decode_escape(text, i, what);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

void append_field(std::vector<FormField>& fields, FormField field, std::string_view what) {
  check(!find_bad_utf8(field.name) && !find_bad_utf8(field.value), "request: {} is not UTF-8, needs to be", what);
  check(fields.size() < kMaxFormFields, "request: {1} has more than {0} fields, needs at most {0}", kMaxFormFields,
        what);
  fields.push_back(std::move(field));
}

[[noreturn]] void fail_for_multipart(std::string_view needs) {
  fail("request: body is malformed multipart/form-data, needs {}", needs);
}

/// Returns the text before `end` of `rest`, and removes both from it.
std::string_view take_until(std::string_view& rest, std::string_view end, std::string_view needs) {
  const std::size_t found = rest.find(end);
  if (found == std::string_view::npos) fail_for_multipart(needs);
  const std::string_view text = rest.substr(0, found);
  rest.remove_prefix(found + end.size());
  return text;
}

/// Returns the value of Content-Disposition among the headers of a part.
HeaderValue read_disposition(std::string_view headers) {
  constexpr std::string_view kName = "Content-Disposition";
  std::optional<HeaderValue> disposition;
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find(kLineEnd), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + kLineEnd.size(), headers.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) fail_for_multipart("a colon in each header");
    if (!equal_without_case(line.substr(0, colon), kName)) continue;
    if (disposition) fail_for_multipart("one Content-Disposition in each part");
    disposition = parse_header_value(line.substr(colon + 1), kName);
  }
  if (!disposition || disposition->value != "form-data" || !disposition->parameters.contains("name")) {
    fail_for_multipart("Content-Disposition: form-data with a name in each part");
  }
  return *std::move(disposition);
}

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kUrlencoded = "application/x-www-form-urlencoded";
constexpr std::string_view kMultipart = "multipart/form-data";

HeaderValue content_type(const HttpRequest& request) {
  const auto header = request.header("Content-Type");
  if (!header) return {};
  HeaderValue type = parse_header_value(*header, "Content-Type");
  const auto charset = type.parameters.find("charset");
  check(charset == type.parameters.end() || equal_without_case(charset->second, "utf-8"),
        "request: Content-Type has charset {}, needs utf-8",
        charset == type.parameters.end() ? "" : quote_unless_plain(charset->second));
  return type;
}

/// Reads a value, and appends it if it is text.
void read_value(JsonScanner& json, const std::string& name, RequestField& field) {
  switch (json.next_kind(name)) {
    case JsonKind::kString:
      field.values.push_back(json.read_string(name));
      break;
    case JsonKind::kNumber:
      field.is_word = true;
      field.values.push_back(json_number(json.read_number(name)));
      break;
    case JsonKind::kBoolean:
      field.is_word = true;
      field.values.emplace_back(json.read_boolean(name) ? "true" : "false");
      break;
    default:
      field.is_other_kind = true;
      json.skip();
  }
}

RequestField read_list(JsonScanner& json, const std::string& name) {
  RequestField field{.is_list = true};
  json.read_array(name, [&] {
    if (json.next_kind(name) == JsonKind::kString) {
      field.values.push_back(json.read_string(name));
    } else {
      field.is_other_kind = true;
      json.skip();
    }
  });
  return field;
}

}  // namespace

HeaderValue parse_header_value(std::string_view text, std::string_view name) {
  const std::size_t end = std::min(text.find(';'), text.size());
  return {lower_ascii(trim_ascii(text.substr(0, end))),
          HeaderParameters(text.substr(std::min(end + 1, text.size())), name).read()};
}

std::vector<FormField> parse_urlencoded(std::string_view text, std::string_view what) {
  std::vector<FormField> fields;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    append_field(
        fields, {.name = decode_component(pair.substr(0, equals), what), .value = decode_component(value, what)}, what);
  }
  return fields;
}

std::vector<FormField> parse_multipart(std::string_view body, std::string_view boundary) {
  check(!boundary.empty() && boundary.size() <= kMaxBoundary,
        "request: boundary of multipart/form-data has {} bytes, needs 1 to {}", boundary.size(), kMaxBoundary);
  if (boundary.find_first_of(kLineEnd) != std::string_view::npos) fail_for_multipart("a boundary of one line");
  const std::string delimiter = fmt::format("\r\n--{}", boundary);
  const std::string_view first = std::string_view(delimiter).substr(kLineEnd.size());
  if (!body.starts_with(first)) fail_for_multipart("the boundary at its beginning");
  body.remove_prefix(first.size());

  std::vector<FormField> fields;
  while (body.starts_with(kLineEnd)) {
    // The headers begin after the line feed that this loop leaves in place, so that a part without headers ends them.
    const std::string_view headers = take_until(body, "\r\n\r\n", "an empty line after the headers of each part");
    if (headers.size() > kMaxPartHeaders) fail_for_multipart("at most 8192 bytes of headers in each part");
    const HeaderValue disposition = read_disposition(headers.substr(std::min(kLineEnd.size(), headers.size())));
    const std::string_view value = take_until(body, delimiter, "the boundary after each part");
    const bool is_file = disposition.parameters.contains("filename");
    append_field(fields, {disposition.parameters.at("name"), is_file ? "" : std::string(value), is_file}, "body");
  }
  if (body != "--" && body != "--\r\n") fail_for_multipart("the closing boundary at its end");
  return fields;
}

const RequestField* RequestFields::find(std::string_view name) const {
  const auto found = fields_.find(name);
  if (found == fields_.end()) return nullptr;
  check(!found->second.is_other_kind, "request: {} has other values, needs a string or a list of strings", name);
  return &found->second;
}

/// Returns the field, which is text or a list of texts.
const RequestField* RequestFields::find_text(std::string_view name) const {
  const RequestField* field = find(name);
  if (field != nullptr && field->is_word) {
    fail("request: {} is {}, needs a string", name, field->values.front());
  }
  return field;
}

std::optional<std::string> RequestFields::text(std::string_view name) const {
  find_text(name);
  return word(name);
}

std::optional<std::string> RequestFields::word(std::string_view name) const {
  const RequestField* field = find(name);
  if (field == nullptr) return std::nullopt;
  check(!field->is_list, "request: {} has {} values, needs one", name, field->values.size());
  return field->values.front();
}

std::vector<std::string> RequestFields::texts(std::string_view name) const {
  const RequestField* field = find_text(name);
  return field == nullptr ? std::vector<std::string>() : field->values;
}

bool RequestFields::flag(std::string_view name) const {
  const std::string text = word(name).value_or("false");
  check(text == "true" || text == "false", "request: {} is {}, needs true or false", name, quote_unless_plain(text));
  return text == "true";
}

bool RequestFields::has_members(std::string_view name) const {
  const auto after = fields_.upper_bound(fmt::format("{}.", name));
  return after != fields_.end() && after->first.starts_with(fmt::format("{}.", name));
}

void RequestFields::read_members(JsonScanner& json, const std::string& name) {
  fields_[name].is_other_kind = true;
  json.read_object(name, [&](const std::string& member) {
    const std::string path = name + "." + member;
    json.next_kind(path) == JsonKind::kNull ? json.skip() : read_value(json, path, fields_[path]);
  });
}

void RequestFields::read_json(std::string_view body) {
  is_json_ = true;
  JsonScanner json(body, "request: body");
  json.read_object("the body", [&](const std::string& name) {
    const JsonKind kind = json.next_kind(name);
    if (kind == JsonKind::kNull) return json.skip();
    if (kind == JsonKind::kObject) return read_members(json, name);
    if (kind == JsonKind::kArray) {
      fields_[name] = read_list(json, name);
    } else {
      read_value(json, name, fields_[name]);
    }
  });
  json.expect_end();
}

void RequestFields::add(std::vector<FormField> fields) {
  for (FormField& each : fields) {
    RequestField& field = fields_[each.name];
    field.values.push_back(std::move(each.value));
    field.is_list = field.values.size() > 1;
    field.is_other_kind = field.is_other_kind || each.is_file;
  }
}

RequestFields read_request_fields(const HttpRequest& request) {
  RequestFields fields;
  const HeaderValue type = content_type(request);
  if (type.value == kJson && !request.body.empty()) {
    fields.read_json(request.body);
    return fields;
  }
  fields.add(parse_urlencoded(request.query, "query"));
  if (request.body.empty()) return fields;
  if (type.value == kMultipart) {
    const auto boundary = type.parameters.find("boundary");
    check(boundary != type.parameters.end(), "request: Content-Type has no boundary, needs one");
    fields.add(parse_multipart(request.body, boundary->second));
    return fields;
  }
  check(type.value == kUrlencoded, "request: Content-Type is {}, needs {}, {} or {}",
        type.value.empty() ? "missing" : quote_unless_plain(type.value), kJson, kUrlencoded, kMultipart);
  fields.add(parse_urlencoded(request.body, "body"));
  return fields;
}

}  // namespace edgewise
