// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace edgewise {

/// The value of a header such as Content-Type or Content-Disposition: `multipart/form-data; boundary="a b"`.
struct HeaderValue {
  std::string value;                                           // in lower case: "multipart/form-data"
  std::map<std::string, std::string, std::less<>> parameters;  // by name in lower case
};

/// Throws Error for text that does not have this form (RFC 9110, section 5.6.6) or names a parameter twice. `name` is
/// the header's name, for the error.
HeaderValue parse_header_value(std::string_view text, std::string_view name);

}  // namespace edgewise
