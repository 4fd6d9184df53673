// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace edgewise
