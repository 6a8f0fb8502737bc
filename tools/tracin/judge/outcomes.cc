#include "tools/tracin/judge/outcomes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/file/line_reader.h"

namespace rutile {
namespace {

std::string Describe(const std::pair<int64_t, std::string>& key) {
  return absl::StrCat("subset ", key.first, " with seed ", key.second);
}

}  // namespace

std::vector<double> Outcomes::Mean() const {
  std::vector<double> mean(y[0].size(), 0);
  for (const std::vector<double>& of_seed : y) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += of_seed[i] / static_cast<double>(y.size());
  }
  return mean;
}

absl::StatusOr<OutcomeMap> PredictTests(absl::Span<const SubsetModel> models, const JudgedRun& run) {
  OutcomeMap map;
  std::map<std::pair<int64_t, std::string>, std::string> path_of;
  for (const SubsetModel& model : models) {
    RETURN_IF_ERROR(CheckInterrupt());
    const auto key = std::make_pair(model.subset, model.seed);
    if (const auto [known, is_new] = path_of.emplace(key, model.path); !is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat(known->second, " and ", model.path, " are both of ", Describe(key), ": give one of them"));
    }
    ASSIGN_OR_RETURN(std::vector<double> values, run.Predict(model.path));
    for (const double value : values) {
      if (std::isfinite(value)) continue;
      return absl::InvalidArgumentError(absl::StrCat(model.path, ": predicts ", value, " for a test"));
    }
    map.emplace(key, std::move(values));
  }
  return map;
}

absl::StatusOr<OutcomeMap> ReadOutcomeTable(const std::string& path, const SubsetPlan& plan,
                                            absl::Span<const int64_t> tests) {
  ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(lines.path(), ":", lines.line_number(), ": ", what));
  };
  std::map<int64_t, size_t> place;
  for (size_t t = 0; t < tests.size(); ++t) place[tests[t]] = t;
  std::map<std::pair<int64_t, std::string>, std::map<size_t, double>> found;
  absl::string_view line;
  for (bool is_header = true; lines.Next(&line); is_header = false) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (is_header && (cells != std::vector<std::string>{"subset", "seed", "test", "value"})) {
      return error("expected the header subset, seed, test and value, with tabs between");
    }
    if (is_header) continue;
    int64_t subset = -1, test = -1;
    double value = 0;
    if (cells.size() != 4 || !absl::SimpleAtoi(cells[0], &subset) || !absl::SimpleAtoi(cells[2], &test) ||
        !absl::SimpleAtod(cells[3], &value) || !std::isfinite(value)) {
      return error("expected a subset, a seed, a test and a finite value, with tabs between");
    }
    if (subset < 0 || subset >= plan.num_subsets) {
      return error(absl::StrCat("subset ", subset, ": ", plan.path, " has ", plan.num_subsets, ", counted from 0"));
    }
    const auto t = place.find(test);
    if (t == place.end()) continue;  // of no score
    if (!found[{subset, cells[1]}].emplace(t->second, value).second) {
      return error(absl::StrCat("test ", test, " of ", Describe({subset, cells[1]}), " is there twice"));
    }
  }
  RETURN_IF_ERROR(lines.status());
  OutcomeMap map;
  for (const auto& [key, values] : found) {
    for (size_t t = 0; t < tests.size(); ++t) {
      if (values.count(t) > 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": has no value of test ", tests[t], " for ", Describe(key)));
    }
    for (const auto& [t, value] : values) map[key].push_back(value);
  }
  return map;
}

absl::StatusOr<Outcomes> CompleteOutcomes(const OutcomeMap& map, int64_t num_tests) {
  std::set<std::string> seeds;
  std::map<int64_t, size_t> count;
  for (const auto& [key, values] : map) {
    seeds.insert(key.second);
    ++count[key.first];
  }
  Outcomes outcomes;
  outcomes.seeds.assign(seeds.begin(), seeds.end());
  for (const auto& [subset, number] : count) {
    if (number == seeds.size()) {
      outcomes.subsets.push_back(subset);
    } else {
      ++outcomes.left_out;
    }
  }
  const auto num_subsets = static_cast<int64_t>(outcomes.subsets.size());
  if (num_subsets < kFewestSubsets) {
    return absl::InvalidArgumentError(absl::StrCat(num_subsets, " subsets have a model of each of the ", seeds.size(),
                                                   " seeds, expected ", kFewestSubsets, " or more (100 are usual)"));
  }
  for (const std::string& seed : outcomes.seeds) {
    std::vector<double>& y = outcomes.y.emplace_back(num_tests * num_subsets);
    for (int64_t m = 0; m < num_subsets; ++m) {
      const std::vector<double>& values = map.at({outcomes.subsets[m], seed});
      for (int64_t t = 0; t < num_tests; ++t) y[t * num_subsets + m] = values[t];
    }
  }
  return outcomes;
}

}  // namespace rutile
