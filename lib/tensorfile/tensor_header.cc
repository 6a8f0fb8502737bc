#include "lib/tensorfile/tensor_header.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/round_up.h"
#include "lib/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace rutile {
namespace {

constexpr char kMetadataKey[] = "__metadata__";

absl::Status TensorError(absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", JsonQuote(name), ": ", what));
}

// Follows the parser's events through the only shape that a header may have. Nothing is nested deeper than {name: {key:
// [number]}}, so no input can cause recursion or take more memory than the header's own size.
class HeaderHandler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  TensorHeader TakeHeader() { return std::move(header_); }
  const absl::Status& status() const { return status_; }

  bool null() { return Unexpected("null"); }
  bool boolean(bool value) { return Unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) {
    if (InArray()) return Fail(Where(absl::StrCat(value, " in ", key_, ", expected numbers from 0 on")));
    return Unexpected(absl::StrCat(value));
  }
  bool number_unsigned(number_unsigned_t value) {
    if (!InArray()) return Unexpected(absl::StrCat(value));
    if (value > INT64_MAX) return Fail(Where(absl::StrCat(value, " in ", key_, " is above 2^63")));
    (place_ == Place::kShape ? entry_.shape : offsets_).push_back(value);
    return true;
  }
  bool number_float(number_float_t, const string_t& text) {
    if (InArray()) return Fail(Where(absl::StrCat(text, " in ", key_, ", expected whole numbers below 2^63")));
    return Unexpected(text);
  }
  bool string(string_t& value) {
    if (place_ == Place::kMetadata) {
      if (!header_.metadata.emplace(key_, std::move(value)).second) {
        return Fail(absl::InvalidArgumentError(absl::StrCat("metadata ", JsonQuote(key_), " comes twice")));
      }
      return true;
    }
    if (place_ != Place::kEntry || key_ != "dtype") return Unexpected("a text");
    if (!ParseDType(value, &entry_.dtype)) return Fail(UnknownType(value));
    return true;
  }
  bool binary(binary_t&) { return Unexpected("binary data"); }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::kStart:
        place_ = Place::kTop;
        return true;
      case Place::kTop:
        if (name_ == kMetadataKey) {
          place_ = Place::kMetadata;
        } else {
          place_ = Place::kEntry;
          entry_ = TensorEntry();
          offsets_.clear();
          seen_ = 0;
        }
        return true;
      default:
        return TooDeep();
    }
  }
  bool key(string_t& key) {
    if (place_ == Place::kTop) {
      name_ = std::move(key);
      if (!names_.insert(name_).second) return Fail(Where("the name comes twice"));
      return true;
    }
    key_ = std::move(key);
    if (place_ == Place::kMetadata) return true;
    const int bit = key_ == "dtype" ? 1 : key_ == "shape" ? 2 : key_ == "data_offsets" ? 4 : 0;
    if (bit == 0) {
      return Fail(Where(absl::StrCat("unknown key ", JsonQuote(key_), ", expected dtype, shape and data_offsets")));
    }
    if (seen_ & bit) return Fail(Where(absl::StrCat(JsonQuote(key_), " comes twice")));
    seen_ |= bit;
    return true;
  }
  bool end_object() {
    switch (place_) {
      case Place::kEntry:
        place_ = Place::kTop;
        return FinishEntry();
      case Place::kMetadata:
        place_ = Place::kTop;
        return true;
      default:
        place_ = Place::kEnd;
        return true;
    }
  }
  bool start_array(std::size_t) {
    if (place_ != Place::kEntry) return InArray() ? TooDeep() : Unexpected("an array");
    if (key_ == "dtype") return Unexpected("an array");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }
  bool end_array() {
    place_ = Place::kEntry;
    return true;
  }
  // Messages of the parser contain its own numbers and positions; this one says where the error is and what was read
  // last.
  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::json::exception& error) {
    const absl::string_view text = error.what();
    const absl::string_view reason =
        text.find("UTF-8") != absl::string_view::npos ? "text that is not UTF-8" : "not valid JSON";
    return Fail(absl::InvalidArgumentError(absl::StrCat("header byte ", position, ": ", reason)));
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kEntry, kShape, kOffsets, kEnd };

  bool InArray() const { return place_ == Place::kShape || place_ == Place::kOffsets; }

  absl::Status Where(absl::string_view what) const { return TensorError(name_, what); }

  bool Fail(absl::Status status) {
    status_ = std::move(status);
    return false;
  }

  bool TooDeep() {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("header nested too deep at ", JsonQuote(name_), ", expected {name: {key: [numbers]}} at most")));
  }

  bool Unexpected(absl::string_view what) {
    switch (place_) {
      case Place::kMetadata:
        return Fail(
            absl::InvalidArgumentError(absl::StrCat("metadata ", JsonQuote(key_), " is ", what, ", expected a text")));
      case Place::kTop:
        if (name_ == kMetadataKey) {
          return Fail(absl::InvalidArgumentError(absl::StrCat(kMetadataKey, " is ", what, ", expected an object")));
        }
        return Fail(Where(absl::StrCat("is ", what, ", expected an object with dtype, shape and data_offsets")));
      case Place::kEntry:
        return Fail(Where(absl::StrCat(key_, " is ", what, ", expected ",
                                       key_ == "dtype" ? "the name of a type" : "an array of whole numbers")));
      default:
        return Fail(Where(absl::StrCat(what, " in ", key_, ", expected whole numbers")));
    }
  }

  absl::Status UnknownType(absl::string_view type) const {
    for (const char* const known :
         {"C64", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4", "F6_E2M3", "F6_E3M2"}) {
      if (type == known) {
        return Where(absl::StrCat("has dtype ", type, ", which rutile does not read; convert it to F32 or F64"));
      }
    }
    return Where(absl::StrCat("unknown dtype ", JsonQuote(type), ", expected F32, F64, I64 or the like"));
  }

  bool FinishEntry() {
    if (seen_ != 7) {
      return Fail(Where(absl::StrCat("has no ", !(seen_ & 1) ? "dtype" : !(seen_ & 2) ? "shape" : "data_offsets")));
    }
    if (offsets_.size() != 2) {
      return Fail(Where(absl::StrCat("data_offsets has ", offsets_.size(), " numbers, expected 2")));
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    if (entry_.end < entry_.begin) {
      return Fail(Where(absl::StrCat("bytes ", entry_.begin, "..", entry_.end, " end before they begin")));
    }
    // In `padded`, zeros count as ones, so that the product of any of the dimensions is known to fit as well.
    int64_t size = ByteSize(entry_.dtype), padded = size;
    for (const int64_t length : entry_.shape) {
      if (__builtin_mul_overflow(padded, std::max<int64_t>(length, 1), &padded)) {
        return Fail(Where(absl::StrCat("the size of ", DescribeShape(entry_.dtype, entry_.shape), " overflows")));
      }
      size *= length;
    }
    if (entry_.end - entry_.begin != size) {
      return Fail(Where(absl::StrCat("bytes ", entry_.begin, "..", entry_.end, " do not match ",
                                     DescribeShape(entry_.dtype, entry_.shape), " (", size, " bytes)")));
    }
    entry_.name = name_;
    header_.entries.push_back(std::move(entry_));
    return true;
  }

  TensorHeader header_;
  absl::Status status_;
  Place place_ = Place::kStart;
  std::set<std::string> names_;  // ordered, so that no input can slow it down
  std::string name_, key_;       // key of the top level, and of the object below
  TensorEntry entry_;
  std::vector<int64_t> offsets_;
  int seen_ = 0;  // keys of the entry as bits: 1 dtype, 2 shape, 4 data_offsets
};

}  // namespace

absl::StatusOr<TensorHeader> ParseTensorHeader(absl::string_view json) {
  if (json.empty() || json[0] != '{') return absl::InvalidArgumentError("the header does not start with '{'");
  // The parser treats a NUL as the end of its input.
  if (const size_t nul = json.find('\0'); nul != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("header byte ", nul, ": NUL, expected JSON padded with spaces"));
  }
  HeaderHandler handler;
  const bool parsed = nlohmann::json::sax_parse(json.data(), json.data() + json.size(), &handler);
  RETURN_IF_ERROR(handler.status());
  if (!parsed) return absl::InvalidArgumentError("the header is not valid JSON");
  return handler.TakeHeader();
}

absl::StatusOr<std::string> FormatTensorHeader(const TensorHeader& header) {
  std::string json(sizeof(uint64_t), '\0');
  json += '{';
  if (!header.metadata.empty()) {
    absl::StrAppend(&json, "\"", kMetadataKey, "\":{");
    for (const auto& [key, value] : header.metadata) {
      if (!IsUtf8(key) || !IsUtf8(value)) {
        return absl::InvalidArgumentError(absl::StrCat("metadata ", JsonQuote(key), " is not UTF-8"));
      }
      absl::StrAppend(&json, json.back() == '{' ? "" : ",", JsonQuote(key), ":", JsonQuote(value));
    }
    json += '}';
  }
  for (const TensorEntry& entry : header.entries) {
    if (entry.name == kMetadataKey) return TensorError(entry.name, "the name is reserved for metadata");
    if (!IsUtf8(entry.name)) return TensorError(entry.name, "the name is not UTF-8");
    absl::StrAppend(&json, json.back() == '{' ? "" : ",", JsonQuote(entry.name), ":{\"dtype\":\"",
                    DTypeName(entry.dtype), "\",\"shape\":[", absl::StrJoin(entry.shape, ","), "],\"data_offsets\":[",
                    entry.begin, ",", entry.end, "]}");
  }
  json += '}';
  json.resize(RoundUp(static_cast<int64_t>(json.size()), 64), ' ');
  uint64_t length = json.size() - sizeof(uint64_t);
  if (length > kMaxTensorHeader) {
    return absl::InvalidArgumentError(absl::StrCat("a header of ", length, " bytes (metadata and ",
                                                   header.entries.size(), " tensors), at most ", kMaxTensorHeader,
                                                   " are allowed; write several files, or fewer and larger tensors"));
  }
  for (size_t i = 0; i < sizeof(length); ++i, length >>= 8) json[i] = static_cast<char>(length & 255);
  return json;
}

void LayOutTensors(std::vector<TensorEntry>* entries) {
  std::stable_sort(entries->begin(), entries->end(),
                   [](const TensorEntry& a, const TensorEntry& b) { return ByteSize(a.dtype) > ByteSize(b.dtype); });
  int64_t offset = 0;
  for (TensorEntry& entry : *entries) {
    entry.begin = offset;
    int64_t size = ByteSize(entry.dtype);
    for (const int64_t length : entry.shape) size *= length;
    entry.end = offset += size;
  }
}

std::string DescribeShape(DType dtype, const std::vector<int64_t>& shape) {
  return absl::StrCat(DTypeName(dtype), " [", absl::StrJoin(shape, ","), "]");
}

std::string JsonQuote(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
        } else {
          quoted += c;
        }
    }
  }
  quoted += '"';
  return quoted;
}

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) -> unsigned {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    };
    const unsigned lead = byte(i);
    const int length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7f >> length);
    for (int k = 1; k < length; ++k) {
      if (byte(i + k) >> 6 != 2) return false;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

}  // namespace rutile
