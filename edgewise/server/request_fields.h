// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/server/form_fields.h"
#include "edgewise/server/http.h"

namespace edgewise {

/// The values of a field. JSON has a list for a list; null is the same as no field. A field that a form and the query
/// have several times is a list, too.
struct RequestField {
  std::vector<std::string> values = {};
  bool is_list = false;        // a list of JSON, or several values
  bool is_word = false;        // a number, true or false of JSON
  bool is_other_kind = false;  // an object, a list with other values than strings, or a file
};

/// The fields of a request by name, from wherever the client puts them.
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

 private:
  friend RequestFields read_request_fields(const HttpRequest& request);

  const RequestField* find_text(std::string_view name) const;
  void read_json(std::string_view body);
  void add(std::vector<FormField> fields);

  std::map<std::string, RequestField, std::less<>> fields_;
  bool is_json_ = false;
};

/// Reads the fields of a body of JSON: one object, in which each key is there once; the query is not read then. Without
/// JSON, reads the query, and behind it a body of application/x-www-form-urlencoded or multipart/form-data, whatever
/// the method. An empty body may have any type. Throws Error, whose text is fit for the client, for anything else.
RequestFields read_request_fields(const HttpRequest& request);

}  // namespace edgewise
