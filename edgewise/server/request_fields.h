// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/json_scanner.h"
#include "edgewise/server/http.h"

namespace edgewise {

/// The value of a header such as Content-Type or Content-Disposition: `multipart/form-data; boundary="a b"`.
struct HeaderValue {
  std::string value;                                           // in lower case: "multipart/form-data"
  std::map<std::string, std::string, std::less<>> parameters;  // by name in lower case
};

/// Throws Error for text that does not have this form (RFC 9110, section 5.6.6) or names a parameter twice. `name` is
/// the header's name, for the error.
HeaderValue parse_header_value(std::string_view text, std::string_view name);

struct FormField {
  std::string name;
  std::string value;
  bool is_file = false;  // `value` is empty then

  friend bool operator==(const FormField&, const FormField&) = default;
};

/// Most fields of a form.
inline constexpr std::size_t kMaxFormFields = 1000;

// All functions take linear time, and throw Error for text that does not have the form, for more than kMaxFormFields
// fields, and for names and values that are not UTF-8. `what` names the text in errors.

/// Reads the fields of application/x-www-form-urlencoded or of a query, in their order.
std::vector<FormField> parse_urlencoded(std::string_view text, std::string_view what);

/// Reads the fields of multipart/form-data (RFC 7578), in their order. The body must begin with the
/// first boundary and end with the last one.
std::vector<FormField> parse_multipart(std::string_view body, std::string_view boundary);

/// The values of a field. JSON has a list for a list; null is the same as no field. A field that a form and the query
/// have several times is a list, too.
struct RequestField {
  std::vector<std::string> values = {};
  bool is_list = false;        // a list of JSON, or several values
  bool is_word = false;        // a number, true or false of JSON
  bool is_other_kind = false;  // an object, a list with other values than strings, or a file
};

/// The fields of a request by name, from wherever the client puts them. The member `b` of an object `a` of JSON is the
/// field `a.b`.
class RequestFields {
 public:
  bool is_json() const { return is_json_; }

  /// Returns nothing if there is no such field. Throws Error for an object, for a list of other values than strings,
  /// and for a file.
  const RequestField* find(std::string_view name) const;

  /// Returns the value, or nothing. Throws Error for a list, a number, true and false of JSON.
  std::optional<std::string> text(std::string_view name) const;

  /// Returns the same, or the text of a number, true or false.
  std::optional<std::string> word(std::string_view name) const;

  /// Returns all values. Throws Error for a number, true and false of JSON.
  std::vector<std::string> texts(std::string_view name) const;

  /// Returns whether the field is true; no field is false. Throws Error for other values than true and false.
  bool flag(std::string_view name) const;

  /// Returns whether the field is an object of JSON with members.
  bool has_members(std::string_view name) const;

 private:
  friend RequestFields read_request_fields(const HttpRequest& request);

  const RequestField* find_text(std::string_view name) const;
  void read_json(std::string_view body);
  void read_members(JsonScanner& json, const std::string& name);
  void add(std::vector<FormField> fields);

  std::map<std::string, RequestField, std::less<>> fields_;
  bool is_json_ = false;
};

/// Reads the fields of a body of JSON: one object, in which each key is there once; the query is not read then. Without
/// JSON, reads the query, and then a body of application/x-www-form-urlencoded or multipart/form-data, whatever
/// the method. An empty body may have any type. Throws Error, whose text is fit for the client, for anything else.
RequestFields read_request_fields(const HttpRequest& request);

}  // namespace edgewise
