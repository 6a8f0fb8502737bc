#include "lib/influence/tracin_options.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr std::pair<absl::string_view, InfluenceNormalization> kNormalizations[] = {
    {"none", InfluenceNormalization::kNone},
    {"cosine", InfluenceNormalization::kCosine},
    {"train_norm", InfluenceNormalization::kTrainNorm},
};

constexpr std::pair<absl::string_view, InfluenceRanking> kRankings[] = {
    {"highest", InfluenceRanking::kHighest},
    {"lowest", InfluenceRanking::kLowest},
    {"absolute", InfluenceRanking::kAbsolute},
    {"both", InfluenceRanking::kBoth},
};

absl::Status CheckParts(const std::vector<ProductPart>& parts) {
  std::set<std::string> names;
  std::set<int> slices;
  for (const ProductPart& part : parts) {
    if (part.name.empty()) return absl::InvalidArgumentError("parts: one has no name");
    if (!names.insert(part.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("parts: the name \"", part.name, "\" is there twice"));
    }
    if (part.slices.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("parts: \"", part.name, "\" has no parameters"));
    }
    for (const int slice : part.slices) {
      if (!slices.insert(slice).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("parts: \"", part.name, "\" has a parameter (number ", slice, ") that another part has"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(const std::vector<double>& weights) {
  for (size_t j = 0; j < weights.size(); ++j) {
    if (!std::isfinite(weights[j])) {
      return absl::InvalidArgumentError(
          absl::StrCat("test_weight: ", weights[j], " for test ", j, ", expected a finite number"));
    }
  }
  return absl::OkStatus();
}

// Returns how many of n examples are drawn: at least one, if there are any.
int64_t Share(int64_t n, double rate) {
  return n == 0 ? 0 : std::max<int64_t>(1, std::llround(rate * static_cast<double>(n)));
}

}  // namespace

absl::Status CheckTracInOptions(const TracInOptions& options) {
  const auto error = [](absl::string_view message) { return absl::InvalidArgumentError(message); };
  if (options.top_k < 0) return error(absl::StrCat("top_k: ", options.top_k, ", expected 1 or more, or 0 for all"));
  if (!options.scores && !options.train_self && !options.test_self) {
    return error("scores, train_self, test_self: none of them is asked for");
  }
  if (options.part_scores && options.parts.empty()) {
    return error("part_scores: needs parts");
  }
  if (options.memory_limit < 0) {
    return error(absl::StrCat("memory_limit: ", options.memory_limit, " bytes, expected 0 (none) or more"));
  }
  if (options.checkpoints_at_once < 0) {
    return error(absl::StrCat("checkpoints_at_once: ", options.checkpoints_at_once, ", expected 0 (all) or more"));
  }
  if (options.threads < 1) return error(absl::StrCat("threads: ", options.threads, ", expected 1 or more"));
  if (absl::Status status = CheckParts(options.parts); !status.ok()) return status;
  return CheckWeights(options.test_weight);
}

absl::string_view InfluenceNormalizationName(InfluenceNormalization normalization) {
  for (const auto& [name, value] : kNormalizations) {
    if (value == normalization) return name;
  }
  LOG(FATAL) << "no normalization " << static_cast<int>(normalization);
}

absl::string_view InfluenceRankingName(InfluenceRanking ranking) {
  for (const auto& [name, value] : kRankings) {
    if (value == ranking) return name;
  }
  LOG(FATAL) << "no ranking " << static_cast<int>(ranking);
}

absl::StatusOr<InfluenceNormalization> ParseInfluenceNormalization(absl::string_view name) {
  for (const auto& [known, value] : kNormalizations) {
    if (known == name) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("normalization \"", name, "\" is not known, expected none, cosine or train_norm"));
}

absl::StatusOr<InfluenceRanking> ParseInfluenceRanking(absl::string_view name) {
  for (const auto& [known, value] : kRankings) {
    if (known == name) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("ranking \"", name, "\" is not known, expected highest, lowest, absolute or both"));
}

absl::Status CheckTrainSampling(const TrainSampling& sampling) {
  if (!(sampling.rate > 0 && sampling.rate <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("sample_rate: ", sampling.rate, ", expected above 0 and at most 1"));
  }
  return absl::OkStatus();
}

std::vector<int64_t> SampleTraining(absl::Span<const int64_t> train, absl::Span<const int64_t> strata,
                                    const TrainSampling& sampling) {
  CHECK(strata.empty() || strata.size() == train.size()) << strata.size() << " vs. " << train.size();
  std::map<int64_t, std::vector<int64_t>> places;  // positions of each stratum's examples, ascending
  for (size_t i = 0; i < train.size(); ++i) places[strata.empty() ? 0 : strata[i]].push_back(static_cast<int64_t>(i));
  std::vector<int64_t> drawn;
  for (const auto& [stratum, members] : places) {
    const int64_t n = static_cast<int64_t>(members.size());
    const std::vector<int64_t> order = RandomPermutation(
        n, RandomStream(sampling.seed, "sample training", /*epoch=*/0, static_cast<uint64_t>(stratum)));
    for (int64_t i = 0; i < Share(n, sampling.rate); ++i) drawn.push_back(members[order[i]]);
  }
  std::sort(drawn.begin(), drawn.end());
  for (int64_t& place : drawn) place = train[place];
  return drawn;
}

absl::Span<const int64_t> TrainShard(absl::Span<const int64_t> train, int i, int n) {
  CHECK(1 <= i && i <= n) << i << " of " << n;
  const int64_t size = static_cast<int64_t>(train.size());
  const int64_t begin = size * (i - 1) / n, end = size * i / n;
  return train.subspan(begin, end - begin);
}

}  // namespace rutile
