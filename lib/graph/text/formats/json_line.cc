#include "lib/graph/text/formats/json_line.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr size_t kMaxOthers = 256;  // an edge has a dozen; names are compared with each other

// Follows the parser's events without building objects, so that a long object costs no more than its characters.
class TextHandler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  using WantsOther = std::function<bool(absl::string_view)>;

  // wants_other and others may be null.
  TextHandler(absl::Span<const std::string> fields, const WantsOther* wants_other, std::vector<std::string>* values,
              std::vector<JsonField>* others)
      : fields_(fields), wants_other_(wants_other), values_(*values), others_(others), seen_(fields.size(), false) {
    values_.assign(fields.size(), "");
  }
  const absl::Status& status() const { return status_; }

  bool null() {
    if (depth_ == 0) return Fail("null");
    if (depth_ == 1 && is_other_) others_->pop_back();
    MarkMixed();
    return true;
  }
  bool boolean(bool value) { return Skip("true or false", value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { return Skip("a number", absl::StrCat(value)); }
  bool number_unsigned(number_unsigned_t value) { return Skip("a number", absl::StrCat(value)); }
  bool number_float(number_float_t, const string_t& text) { return Skip("a number", text); }
  bool binary(binary_t&) { return Skip("binary data"); }
  bool string(string_t& value) {
    if (depth_ == 0) return Fail("a text");
    if (depth_ == 1 && wanted_ >= 0) values_[wanted_] = std::move(value);
    if (depth_ == 1 && is_other_) others_->back().value = std::move(value);
    if (depth_ == 2 && is_other_ && others_->back().is_list_of_texts) others_->back().texts.push_back(std::move(value));
    return true;
  }
  bool start_object(std::size_t) {
    if (depth_ > 0 && !Skip("an object")) return false;
    MarkNested();
    ++depth_;
    return true;
  }
  bool end_object() {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (!Skip("a list")) return false;
    MarkNested();
    if (depth_ == 1 && is_other_) others_->back().is_list_of_texts = true;
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
    is_other_ = false;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i] != key) continue;
      wanted_ = static_cast<int>(i);
      if (seen_[i]) return Twice(key);
      seen_[i] = true;
    }
    if (wanted_ >= 0 || wants_other_ == nullptr || !(*wants_other_)(key)) return true;
    for (const JsonField& other : *others_) {
      if (other.name == key) return Twice(key);
    }
    if (others_->size() == kMaxOthers) {
      status_ = absl::InvalidArgumentError(absl::StrCat("more than ", kMaxOthers, " fields like \"", key, "\""));
      return false;
    }
    is_other_ = true;
    others_->emplace_back();
    others_->back().name = key;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    const bool utf8 = absl::string_view(error.what()).find("UTF-8") != absl::string_view::npos;
    status_ = absl::InvalidArgumentError(absl::StrCat("not valid JSON at byte ", position, utf8 ? " (not UTF-8)" : "",
                                                      ", expected an object in a line"));
    return false;
  }

 private:
  // Passes over a value that is no text. text: its JSON text, which is the value of other fields.
  bool Skip(absl::string_view what, absl::string_view text = "") {
    if (depth_ == 0) return Fail(what);
    if (depth_ == 1 && is_other_) others_->back().value = std::string(text);
    MarkMixed();
    if (depth_ > 1 || wanted_ < 0) return true;
    status_ = absl::InvalidArgumentError(absl::StrCat("\"", fields_[wanted_], "\" is ", what, ", expected a text"));
    return false;
  }
  void MarkNested() {
    if (depth_ == 1 && is_other_) others_->back().is_nested = true;
  }
  // Notes something in a list that is no text.
  void MarkMixed() {
    if (depth_ == 2 && is_other_) others_->back().is_list_of_texts = false;
  }
  bool Twice(absl::string_view key) {
    status_ = absl::InvalidArgumentError(absl::StrCat("\"", key, "\" comes twice"));
    return false;
  }
  bool Fail(absl::string_view what) {
    status_ = absl::InvalidArgumentError(absl::StrCat(what, ", expected a JSON object"));
    return false;
  }

  const absl::Span<const std::string> fields_;
  const WantsOther* wants_other_;
  std::vector<std::string>& values_;
  std::vector<JsonField>* others_;
  std::vector<bool> seen_;
  int wanted_ = -1;        // the field whose value comes next
  bool is_other_ = false;  // true if the value that comes next is that of others_->back()
  int64_t depth_ = 0;
  absl::Status status_;
};

}  // namespace

absl::Status ParseJsonTexts(absl::string_view json, absl::Span<const std::string> fields,
                            std::vector<std::string>* values) {
  TextHandler handler(fields, nullptr, values, nullptr);
  nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  return handler.status();
}

absl::Status ParseJsonTexts(absl::string_view json, absl::Span<const std::string> fields,
                            const std::function<bool(absl::string_view name)>& wants_other,
                            std::vector<std::string>* values, std::vector<JsonField>* others) {
  others->clear();
  TextHandler handler(fields, &wants_other, values, others);
  nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  return handler.status();
}

}  // namespace rutile
