#include "lib/kge/model/kge_options_text.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

struct Size {
  const char* name;
  int64_t KgeOptions::*value;
  bool of_conve;
};
constexpr Size kSizes[] = {
    {"embedding_dim", &KgeOptions::embedding_dim, false},    {"embedding_height", &KgeOptions::embedding_height, true},
    {"embedding_width", &KgeOptions::embedding_width, true}, {"output_channels", &KgeOptions::output_channels, true},
    {"kernel_height", &KgeOptions::kernel_height, true},     {"kernel_width", &KgeOptions::kernel_width, true},
};

struct Rate {
  const char* name;
  double KgeOptions::*value;
  bool of_conve;
};
constexpr Rate kRates[] = {
    {"input_dropout", &KgeOptions::input_dropout, false},
    {"feature_map_dropout", &KgeOptions::feature_map_dropout, true},
    {"output_dropout", &KgeOptions::output_dropout, true},
    {"label_smoothing", &KgeOptions::label_smoothing, false},
};

absl::StatusOr<std::string> Find(const std::map<std::string, std::string>& text, const char* name) {
  const auto found = text.find(name);
  if (found != text.end()) return found->second;
  return absl::InvalidArgumentError(absl::StrCat("there is no \"", name, "\""));
}

absl::Status NotANumber(const char* name, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is \"", text, "\", expected a number"));
}

}  // namespace

std::map<std::string, std::string> DescribeKgeOptions(const KgeOptions& options) {
  const bool conve = options.model == KgeModel::kConvE;
  std::map<std::string, std::string> text = {{"kge_model", std::string(KgeModelName(options.model))},
                                             {"kge_loss", std::string(KgeLossName(options.loss))}};
  if (conve) text["conve_variant"] = std::string(ConveVariantName(options.variant));
  if (options.label_smoothing > 0) {
    text["label_smoothing_form"] = std::string(LabelSmoothingName(options.smoothing_form));
  }
  for (const Size& size : kSizes) {
    if (conve || !size.of_conve) text[size.name] = absl::StrCat(options.*size.value);
  }
  for (const Rate& rate : kRates) {
    if (conve || !rate.of_conve) text[rate.name] = ExactDecimal(options.*rate.value);
  }
  return text;
}

absl::StatusOr<KgeOptions> ParseKgeOptions(const std::map<std::string, std::string>& text) {
  KgeOptions options;
  ASSIGN_OR_RETURN(const std::string model, Find(text, "kge_model"));
  ASSIGN_OR_RETURN(options.model, ParseKgeModel(model));
  ASSIGN_OR_RETURN(const std::string loss, Find(text, "kge_loss"));
  ASSIGN_OR_RETURN(options.loss, ParseKgeLoss(loss));
  const bool conve = options.model == KgeModel::kConvE;
  if (conve) {
    ASSIGN_OR_RETURN(const std::string variant, Find(text, "conve_variant"));
    ASSIGN_OR_RETURN(options.variant, ParseConveVariant(variant));
  }
  for (const Size& size : kSizes) {
    if (!conve && size.of_conve) continue;
    ASSIGN_OR_RETURN(const std::string value, Find(text, size.name));
    if (!absl::SimpleAtoi(value, &(options.*size.value))) return NotANumber(size.name, value);
  }
  for (const Rate& rate : kRates) {
    if (!conve && rate.of_conve) continue;
    ASSIGN_OR_RETURN(const std::string value, Find(text, rate.name));
    if (!absl::SimpleAtod(value, &(options.*rate.value))) return NotANumber(rate.name, value);
  }
  if (options.label_smoothing > 0) {
    ASSIGN_OR_RETURN(const std::string form, Find(text, "label_smoothing_form"));
    ASSIGN_OR_RETURN(options.smoothing_form, ParseLabelSmoothing(form));
  }
  RETURN_IF_ERROR(CheckKgeOptions(options));
  return options;
}

}  // namespace rutile
