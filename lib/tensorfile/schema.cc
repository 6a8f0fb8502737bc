#include "lib/tensorfile/schema.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// A parsed dimension: "S+1" is {"S", 1}, "3" is {"", 3}.
struct Dimension {
  std::string symbol;
  int64_t number = 0;
};

Dimension ParseDimension(const std::string& text) {
  Dimension dimension;
  if (absl::SimpleAtoi(text, &dimension.number)) return dimension;
  const size_t plus = text.find('+');
  dimension.symbol = text.substr(0, plus);
  CHECK(!dimension.symbol.empty() &&
        (plus == std::string::npos || absl::SimpleAtoi(text.substr(plus + 1), &dimension.number)))
      << "\"" << text << "\" is no dimension of a schema";
  return dimension;
}

// Values of symbols, and the tensors that they come from, for messages.
struct Symbol {
  int64_t value;
  std::string tensor;
};
using Symbols = std::map<std::string, Symbol>;

std::string DescribeTypes(const TensorRule& rule, absl::string_view separator) {
  return absl::StrJoin(rule.dtypes, separator,
                       [](std::string* out, DType dtype) { absl::StrAppend(out, DTypeName(dtype)); });
}

std::string DescribeRule(const TensorRule& rule) {
  return absl::StrCat(DescribeTypes(rule, " or "), " [", absl::StrJoin(rule.shape, ","), "]");
}

bool HasType(const TensorRule& rule, DType dtype) {
  for (const DType allowed : rule.dtypes) {
    if (dtype == allowed) return true;
  }
  return false;
}

// Returns why the tensor does not fit, or "". New symbols get their values here.
std::string Unify(const TensorRule& rule, const Tensor& tensor, Symbols* symbols) {
  if (!HasType(rule, tensor.dtype())) return " (another type)";
  if (tensor.rank() != static_cast<int>(rule.shape.size())) return " (another number of dimensions)";
  for (int i = 0; i < tensor.rank(); ++i) {
    const Dimension dimension = ParseDimension(rule.shape[i]);
    if (dimension.symbol.empty()) {
      if (tensor.dim(i) != dimension.number) {
        return absl::StrCat(" (", tensor.dim(i), " is not ", dimension.number, ")");
      }
      continue;
    }
    const int64_t value = tensor.dim(i) - dimension.number;
    if (value < 0) return absl::StrCat(" (", tensor.dim(i), " is too small for ", rule.shape[i], ")");
    const auto [known, is_new] = symbols->emplace(dimension.symbol, Symbol{value, rule.name});
    if (!is_new && known->second.value != value) {
      return absl::StrCat(" where ", dimension.symbol, " = ", known->second.value, " as in ",
                          JsonQuote(known->second.tensor));
    }
  }
  return "";
}

std::string TableCell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}}); }

std::string DocCell(bool required, absl::string_view doc) {
  return TableCell(required ? std::string(doc) : absl::StrCat("Optional. ", doc));
}

}  // namespace

absl::StatusOr<std::map<std::string, int64_t>> CheckSchema(const Schema& schema, const TensorFile& file) {
  RETURN_IF_ERROR(CheckFileKind(schema.kind, file));
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", what));
  };
  for (const MetadataRule& rule : schema.metadata) {
    if (rule.required && file.metadata.count(rule.key) == 0) {
      return error(
          absl::StrCat("its metadata has no ", JsonQuote(rule.key), ", which ", schema.kind, " needs: ", rule.doc));
    }
  }
  Symbols symbols;
  for (const TensorRule& rule : schema.tensors) {
    const Tensor* const tensor = file.tensors.Find(rule.name);
    if (tensor == nullptr) {
      if (!rule.required) continue;
      return error(
          absl::StrCat("has no tensor ", JsonQuote(rule.name), ", expected ", DescribeRule(rule), ": ", rule.doc));
    }
    const std::string mismatch = Unify(rule, *tensor, &symbols);
    if (mismatch.empty()) continue;
    return error(absl::StrCat("tensor ", JsonQuote(rule.name), " is ", DescribeShape(tensor->dtype(), tensor->shape()),
                              ", expected ", DescribeRule(rule), mismatch));
  }
  std::map<std::string, int64_t> values;
  for (const auto& [name, symbol] : symbols) values[name] = symbol.value;
  return values;
}

std::string SchemaToMarkdown(const Schema& schema) {
  std::string text = absl::StrCat("## `", schema.kind, "`\n\n", schema.doc, "\n");
  if (!schema.tensors.empty()) text += "\n| tensor | type | shape | content |\n|---|---|---|---|\n";
  for (const TensorRule& rule : schema.tensors) {
    absl::StrAppend(&text, "| `", rule.name, "` | ", DescribeTypes(rule, ", "), " | [", absl::StrJoin(rule.shape, ", "),
                    "] | ", DocCell(rule.required, rule.doc), " |\n");
  }
  if (!schema.metadata.empty()) text += "\n| metadata | content |\n|---|---|\n";
  for (const MetadataRule& rule : schema.metadata) {
    absl::StrAppend(&text, "| `", rule.key, "` | ", DocCell(rule.required, rule.doc), " |\n");
  }
  return text;
}

}  // namespace rutile
