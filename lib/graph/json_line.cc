#include "lib/graph/json_line.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

// Follows the parser's events without building objects, so that a long object costs no more than its characters.
class TextHandler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  TextHandler(absl::Span<const std::string> fields, std::vector<std::string>* values)
      : fields_(fields), values_(*values), seen_(fields.size(), false) {
    values_.assign(fields.size(), "");
  }
  const absl::Status& status() const { return status_; }

  bool null() { return depth_ > 0 || Fail("null"); }
  bool boolean(bool) { return Skip("true or false"); }
  bool number_integer(number_integer_t) { return Skip("a number"); }
  bool number_unsigned(number_unsigned_t) { return Skip("a number"); }
  bool number_float(number_float_t, const string_t&) { return Skip("a number"); }
  bool binary(binary_t&) { return Skip("binary data"); }
  bool string(string_t& value) {
    if (depth_ == 0) return Fail("a text");
    if (depth_ == 1 && wanted_ >= 0) values_[wanted_] = std::move(value);
    return true;
  }
  bool start_object(std::size_t) {
    if (depth_ > 0 && !Skip("an object")) return false;
    ++depth_;
    return true;
  }
  bool end_object() {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (!Skip("a list")) return false;
    ++depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }
  bool key(string_t& key) {
    if (depth_ != 1) return true;
    wanted_ = -1;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i] != key) continue;
      wanted_ = static_cast<int>(i);
      if (seen_[i]) {
        status_ = absl::InvalidArgumentError(absl::StrCat("\"", key, "\" comes twice"));
        return false;
      }
      seen_[i] = true;
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    const bool utf8 = absl::string_view(error.what()).find("UTF-8") != absl::string_view::npos;
    status_ = absl::InvalidArgumentError(absl::StrCat("not valid JSON at byte ", position, utf8 ? " (not UTF-8)" : "",
                                                      ", expected an object in a line"));
    return false;
  }

 private:
  bool Skip(absl::string_view what) {
    if (depth_ == 0) return Fail(what);
    if (depth_ > 1 || wanted_ < 0) return true;
    status_ = absl::InvalidArgumentError(absl::StrCat("\"", fields_[wanted_], "\" is ", what, ", expected a text"));
    return false;
  }
  bool Fail(absl::string_view what) {
    status_ = absl::InvalidArgumentError(absl::StrCat(what, ", expected a JSON object"));
    return false;
  }

  const absl::Span<const std::string> fields_;
  std::vector<std::string>& values_;
  std::vector<bool> seen_;
  int wanted_ = -1;  // the field whose value comes next
  int64_t depth_ = 0;
  absl::Status status_;
};

}  // namespace

absl::Status ParseJsonTexts(absl::string_view json, absl::Span<const std::string> fields,
                            std::vector<std::string>* values) {
  TextHandler handler(fields, values);
  nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  return handler.status();
}

}  // namespace rutile
