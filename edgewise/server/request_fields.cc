// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/request_fields.h"

#include "edgewise/base/ascii.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

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

void RequestFields::read_json(std::string_view body) {
  is_json_ = true;
  JsonScanner json(body, "request: body");
  json.read_object("the body", [&](const std::string& name) {
    const JsonKind kind = json.next_kind(name);
    if (kind == JsonKind::kNull) return json.skip();
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
