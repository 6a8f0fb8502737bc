#include "lib/kge/model/kge_options.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/kge/model/parse_choice.h"

namespace rutile {
namespace {

constexpr absl::string_view kCrossEntropyName = "ce";  // another name of 1vsAll

absl::Status CheckAtLeastOne(absl::string_view name, int64_t value) {
  if (value >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " = ", value, ": expected at least 1"));
}

absl::Status CheckRate(absl::string_view name, double value) {
  if (value >= 0 && value < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " = ", value, ": expected at least 0 and less than 1"));
}

// Lists the ways to see an embedding as an image: "1 x 200, 2 x 100, ...".
std::string Factorizations(int64_t dim) {
  std::vector<std::string> found;
  for (int64_t height = 1; height <= dim; ++height) {
    if (dim % height == 0) found.push_back(absl::StrCat(height, " x ", dim / height));
  }
  return absl::StrJoin(found, ", ");
}

absl::Status CheckImage(const KgeOptions& options) {
  RETURN_IF_ERROR(CheckAtLeastOne("embedding_height", options.embedding_height));
  RETURN_IF_ERROR(CheckAtLeastOne("embedding_width", options.embedding_width));
  RETURN_IF_ERROR(CheckAtLeastOne("output_channels", options.output_channels));
  RETURN_IF_ERROR(CheckAtLeastOne("kernel_height", options.kernel_height));
  RETURN_IF_ERROR(CheckAtLeastOne("kernel_width", options.kernel_width));
  if (options.embedding_height > options.embedding_dim || options.embedding_width > options.embedding_dim ||
      options.embedding_height * options.embedding_width != options.embedding_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding_dim = ", options.embedding_dim,
                     " is not embedding_height x embedding_width = ", options.embedding_height, " x ",
                     options.embedding_width, "; what fits: ", Factorizations(options.embedding_dim)));
  }
  const bool wide = options.variant == ConveVariant::kTiepin;
  const int64_t height = options.embedding_height * (wide ? 1 : 2), width = options.embedding_width * (wide ? 2 : 1);
  if (options.kernel_height > height || options.kernel_width > width) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_height x kernel_width = ", options.kernel_height, " x ", options.kernel_width,
                     " is larger than the image of both embeddings, ", height, " x ", width, " (stacked along ",
                     wide ? "width" : "height", ", conve_variant ", ConveVariantName(options.variant), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view KgeModelName(KgeModel model) {
  switch (model) {
    case KgeModel::kConvE:
      return "conve";
    case KgeModel::kDistMult:
      return "distmult";
    case KgeModel::kComplEx:
      return "complex";
  }
  LOG(FATAL) << "no such model: " << static_cast<int>(model);
}

absl::string_view ConveVariantName(ConveVariant variant) {
  switch (variant) {
    case ConveVariant::kDettmers:
      return "dettmers";
    case ConveVariant::kTiepin:
      return "tiepin";
    case ConveVariant::kLibkge:
      return "libkge";
  }
  LOG(FATAL) << "no such variant: " << static_cast<int>(variant);
}

absl::string_view KgeLossName(KgeLoss loss) {
  switch (loss) {
    case KgeLoss::kOneToN:
      return "1-N";
    case KgeLoss::kOneOfN:
      return "1-of-N";
    case KgeLoss::kOneVsAll:
      return "1vsAll";
    case KgeLoss::kKvsAll:
      return "KvsAll";
  }
  LOG(FATAL) << "no such loss: " << static_cast<int>(loss);
}

absl::string_view LabelSmoothingName(LabelSmoothing form) {
  switch (form) {
    case LabelSmoothing::kDettmers:
      return "dettmers";
    case LabelSmoothing::kStandard:
      return "standard";
    case LabelSmoothing::kPykeen:
      return "pykeen";
  }
  LOG(FATAL) << "no such smoothing: " << static_cast<int>(form);
}

absl::StatusOr<KgeModel> ParseKgeModel(absl::string_view name) {
  return ParseChoice<KgeModel>("model", name, {KgeModel::kConvE, KgeModel::kDistMult, KgeModel::kComplEx},
                               KgeModelName);
}

absl::StatusOr<ConveVariant> ParseConveVariant(absl::string_view name) {
  return ParseChoice<ConveVariant>("variant of ConvE", name,
                                   {ConveVariant::kDettmers, ConveVariant::kTiepin, ConveVariant::kLibkge},
                                   ConveVariantName);
}

absl::StatusOr<KgeLoss> ParseKgeLoss(absl::string_view name) {
  if (LooseName(name) == kCrossEntropyName) return KgeLoss::kOneVsAll;
  return ParseChoice<KgeLoss>("loss", name, {KgeLoss::kOneToN, KgeLoss::kOneOfN, KgeLoss::kOneVsAll, KgeLoss::kKvsAll},
                              KgeLossName);
}

absl::StatusOr<LabelSmoothing> ParseLabelSmoothing(absl::string_view name) {
  return ParseChoice<LabelSmoothing>("label smoothing", name,
                                     {LabelSmoothing::kDettmers, LabelSmoothing::kStandard, LabelSmoothing::kPykeen},
                                     LabelSmoothingName);
}

absl::Status CheckKgeOptions(const KgeOptions& options) {
  RETURN_IF_ERROR(CheckAtLeastOne("embedding_dim", options.embedding_dim));
  RETURN_IF_ERROR(CheckRate("input_dropout", options.input_dropout));
  RETURN_IF_ERROR(CheckRate("label_smoothing", options.label_smoothing));
  if (options.precision != DType::kF32 && options.precision != DType::kF64) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision = ", DTypeName(options.precision), ": expected F32 or F64"));
  }
  if (options.model == KgeModel::kConvE) {
    RETURN_IF_ERROR(CheckRate("feature_map_dropout", options.feature_map_dropout));
    RETURN_IF_ERROR(CheckRate("output_dropout", options.output_dropout));
    return CheckImage(options);
  }
  if (options.model == KgeModel::kComplEx && options.embedding_dim % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("embedding_dim = ", options.embedding_dim,
                                                   ": complex needs an even number, real parts and imaginary parts"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
