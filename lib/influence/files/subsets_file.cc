#include "lib/influence/files/subsets_file.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

std::string Text(const SubsetPlan& plan) { return absl::StrCat(absl::StrJoin(plan.lines, "\n"), "\n"); }

absl::Status Error(const TensorFile& file, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", message));
}

absl::StatusOr<SubsetPlan> Decode(const TensorFile& file) {
  SubsetPlan plan;
  plan.path = file.path;
  plan.examples = file.metadata.at("examples");
  if (plan.examples != kStructureExamples && plan.examples != kTripleExamples) {
    return Error(file, absl::StrCat("metadata \"examples\": ", plan.examples.substr(0, 40), ", expected ",
                                    kStructureExamples, " or ", kTripleExamples));
  }
  const std::string &share = file.metadata.at("kept"), &seed = file.metadata.at("seed");
  if (!absl::SimpleAtod(share, &plan.share) || !(plan.share > 0 && plan.share < 1)) {
    return Error(file, absl::StrCat("metadata \"kept\": ", share.substr(0, 40), ", expected a share between 0 and 1"));
  }
  if (!absl::SimpleAtoi(seed, &plan.seed)) {
    return Error(file, absl::StrCat("metadata \"seed\": ", seed.substr(0, 40), ", expected a whole number"));
  }
  plan.stratify_by = file.metadata.at("stratify_by");
  const absl::Span<const uint8_t> text = file.tensors.At("examples").values<uint8_t>();
  plan.lines = absl::StrSplit(absl::string_view(reinterpret_cast<const char*>(text.data()), text.size()), '\n');
  if (plan.lines.back().empty()) plan.lines.pop_back();
  const Tensor& kept = file.tensors.At("kept");
  if (kept.dim(1) != plan.num_examples() || plan.lines.empty()) {
    return Error(file, absl::StrCat("tensor \"examples\": ", plan.num_examples(), " lines, expected ", kept.dim(1),
                                    ", one for each column of \"kept\""));
  }
  plan.num_subsets = kept.dim(0);
  plan.kept.assign(kept.values<uint8_t>().begin(), kept.values<uint8_t>().end());
  for (int64_t m = 0; m < plan.num_subsets; ++m) {
    const absl::Span<const uint8_t> subset = plan.subset(m);
    if (std::any_of(subset.begin(), subset.end(), [](uint8_t value) { return value > 1; })) {
      return Error(file, absl::StrCat("tensor \"kept\": row ", m, " has a value that is neither 0 nor 1"));
    }
    if (std::all_of(subset.begin(), subset.end(), [](uint8_t value) { return value == 0; })) {
      return Error(file, absl::StrCat("tensor \"kept\": row ", m, " keeps no example"));
    }
  }
  return plan;
}

}  // namespace

const Schema& SubsetsSchema() {
  static const Schema& schema = *new Schema{
      "subsets/1",
      "Random subsets of a run's training examples, made by `tracin --plan_subsets`; `train --subset=FILE:17` trains "
      "on "
      "one, and `tracin --lds` compares scores of influence with the outcomes. M subsets, n examples, B bytes.",
      {
          {"kept", {DType::kU8}, {"M", "n"}, true, "1 for an example that the subset keeps, else 0"},
          {"examples",
           {DType::kU8},
           {"B"},
           true,
           "text with a line for each example: of structures as in train_frames.txt of the run (a number, #, name, "
           "hash "
           "of the content), of triples head, relation and tail by name, with tabs between"},
      },
      {{"examples", true, "`structures` or `triples`"},
       {"kept", true, "share of the examples that was asked for"},
       {"seed", true, "of the draw"},
       {"stratify_by", true, "property whose values keep that share each; empty: none"}}};
  return schema;
}

std::string SubsetsSha256(const SubsetPlan& plan) {
  Sha256 hash;
  hash.Update(Text(plan));
  hash.Update(absl::string_view(reinterpret_cast<const char*>(plan.kept.data()), plan.kept.size()));
  return hash.HexDigest();
}

absl::Status WriteSubsets(absl::string_view path, const SubsetPlan& plan, const Metadata& provenance) {
  CHECK_EQ(static_cast<int64_t>(plan.kept.size()), plan.num_subsets * plan.num_examples());
  const std::string text = Text(plan);
  NamedTensors tensors;
  tensors.Set("kept", Tensor::Of<uint8_t>(plan.kept, {plan.num_subsets, plan.num_examples()}));
  tensors.Set("examples", Tensor::Of(std::vector<uint8_t>(text.begin(), text.end())));
  Metadata metadata = {{"kind", SubsetsSchema().kind},
                       {"examples", plan.examples},
                       {"kept", absl::StrCat(plan.share)},
                       {"seed", absl::StrCat(plan.seed)},
                       {"stratify_by", plan.stratify_by}};
  metadata.insert(provenance.begin(), provenance.end());
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<SubsetPlan> ReadSubsets(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  RETURN_IF_ERROR(CheckSchema(SubsetsSchema(), file).status());
  return Decode(file);
}

absl::StatusOr<SubsetName> ParseSubsetName(absl::string_view text) {
  SubsetName name;
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(text.substr(colon + 1), &name.number) ||
      name.number < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, ": expected a file of tracin --plan_subsets and a number from 0, as in subsets.safetensors:17"));
  }
  name.path = std::string(text.substr(0, colon));
  return name;
}

}  // namespace rutile
