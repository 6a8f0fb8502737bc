#include "tools/tracin/influence_run.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/interrupt.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/lazy_products.h"
#include "lib/influence/tracin.h"
#include "tools/common/run/given_flags.h"
#include "tools/tracin/chosen_tests.h"
#include "tools/tracin/outputs/influence_tables.h"
#include "tools/tracin/parameter_flags.h"
#include "tools/tracin/shard_processes.h"
#include "tools/tracin/unrolled_run.h"
#include "tools/tracin/verify.h"

namespace rutile {
namespace {

struct Plan {
  ParameterChoice parameters;
  std::vector<int64_t> train, tests;
  size_t num_asked = 0;  // tests asked for, of which `tests` lacks those whose files exist
  bool is_done = false;  // all files exist
  std::function<bool(int64_t test, int64_t train)> near;
  TracInOptions options;
  InfluenceDescription description;
};

absl::Status ChooseTrain(const TracinFlags& flags, const InfluenceDomain& domain, Plan* plan) {
  plan->train = domain.TrainExamples();
  const size_t all = plan->train.size();
  plan->near = domain.Near(plan->tests, &plan->train);
  if (plan->train.empty()) {
    return absl::InvalidArgumentError("--hops: no training example is within them of a test");
  }
  if (plan->train.size() < all) {
    PrintMessage(absl::StrCat(plan->train.size(), " of ", all, " training examples are near a test"));
  }
  if (flags.sampling.rate < 1) {
    std::vector<int64_t> strata;
    if (!flags.stratify_by.empty()) {
      ASSIGN_OR_RETURN(strata, domain.Strata(flags.stratify_by, plan->train));
    }
    plan->train = SampleTraining(plan->train, strata, flags.sampling);
  }
  if (FlagGiven("top_k") && flags.options.top_k > static_cast<int64_t>(plan->train.size())) {
    return absl::InvalidArgumentError(absl::StrCat("--top_k=", flags.options.top_k, ": there are ", plan->train.size(),
                                                   " training examples to list (0 lists all)"));
  }
  plan->train = domain.StreamOrder(std::move(plan->train));
  if (flags.num_processes > static_cast<int64_t>(plan->train.size())) {
    return absl::InvalidArgumentError(absl::StrCat("--num_processes=", flags.num_processes, ": there are ",
                                                   plan->train.size(), " training examples"));
  }
  if (flags.num_shards > static_cast<int64_t>(plan->train.size())) {
    return absl::InvalidArgumentError(absl::StrCat("--shard=", flags.shard, "/", flags.num_shards, ": there are ",
                                                   plan->train.size(), " training examples"));
  }
  const absl::Span<const int64_t> part = TrainShard(plan->train, flags.shard, flags.num_shards);
  plan->train = std::vector<int64_t>(part.begin(), part.end());
  return absl::OkStatus();
}

std::vector<std::string> TestNames(const TracinFlags& flags, const InfluenceDomain& domain,
                                   const std::vector<int64_t>& tests) {
  if (flags.aggregate) return {absl::StrCat("sum of ", tests.size(), " tests")};
  std::vector<std::string> names;
  for (const int64_t test : tests) names.push_back(absl::StrJoin(domain.TestCells(test), " "));
  return names;
}

void Describe(const TracinFlags& flags, const CheckpointSet& checkpoint_set, const InfluenceDomain& domain,
              Plan* plan) {
  InfluenceDescription& description = plan->description;
  domain.Describe(&description);
  description.checkpoints = checkpoint_set.paths;
  description.checkpoint_sha256 = checkpoint_set.sha256;
  description.rates = checkpoint_set.rates;
  description.normalization = flags.options.normalization;
  description.ranking = plan->options.ranking;
  description.top_k = flags.options.top_k;
  description.shard = flags.shard;
  description.num_shards = flags.num_shards;
  auto& settings = description.settings;
  if (flags.adam) settings["precondition"] = "adam";
  if (flags.gauss_newton) settings["precondition"] = flags.ek_fac ? "ek-fac" : "gauss-newton";
  if (flags.unrolled) settings["unrolled"] = absl::StrCat("steps ", UnrolledSteps(checkpoint_set.unrolled));
  if (checkpoint_set.has_group_rates) settings["parameter_groups"] = "rates";
  if (!plan->parameters.description.empty()) settings["parameters"] = plan->parameters.description;
  if (flags.sampling.rate < 1) {
    settings["sample_rate"] = absl::StrCat(flags.sampling.rate);
    settings["seed"] = absl::StrCat(flags.seed);
    if (!flags.stratify_by.empty()) settings["stratify_by"] = flags.stratify_by;
  }
  if (!flags.test_weights.empty()) settings["test_weights"] = absl::StrJoin(plan->options.test_weight, " ");
  description.test_names = TestNames(flags, domain, plan->tests);
}

absl::StatusOr<Plan> MakePlan(const TracinFlags& flags, const OutputFlags& outputs, const CheckpointSet& checkpoint_set,
                              const InfluenceDomain& domain) {
  Plan plan;
  ASSIGN_OR_RETURN(plan.parameters, ParametersFromFlags(domain.slices(), [&](const ParameterSlice& slice) {
                     return domain.Place(slice);
                   }));
  if (plan.parameters.part_scores && FlagGiven("projection_dim")) {
    return absl::InvalidArgumentError(
        "--blocks and --projection_dim exclude each other: a projection mixes the parameters");
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> all_tests, ChooseTests(flags, domain.num_tests()));
  RETURN_IF_ERROR(CheckCsvOfTests(outputs, all_tests.size()));
  const std::optional<std::vector<int64_t>> left = TestsToDo(outputs, all_tests);
  plan.tests = left.value_or(all_tests);
  plan.num_asked = all_tests.size();
  plan.is_done = !left.has_value();
  RETURN_IF_ERROR(ChooseTrain(flags, domain, &plan));
  plan.options = flags.options;
  plan.options.ranking = RankingOf(flags.options.ranking, domain.SignOfHelp());
  plan.options.parts = plan.parameters.parts;
  plan.options.part_scores = plan.parameters.part_scores;
  if (flags.aggregate) {
    ASSIGN_OR_RETURN(plan.options.test_weight, AggregateWeights(flags, plan.tests, domain.num_tests()));
    plan.near = nullptr;  // training examples near no test are already left out
  }
  const int64_t fit = std::max<int64_t>(1, plan.options.memory_limit / std::max<int64_t>(1, domain.bytes_per_point()));
  if (fit < static_cast<int64_t>(checkpoint_set.size())) {
    plan.options.checkpoints_at_once = fit;
    PrintMessage(absl::StrCat("memory for ", fit, " of ", checkpoint_set.size(),
                              " checkpoints at a time: they take turns (--max_bytes=", plan.options.memory_limit, ")"));
  }
  RETURN_IF_ERROR(CheckTracInOptions(plan.options));
  Describe(flags, checkpoint_set, domain, &plan);
  if (!flags.part.empty()) return plan;  // the parent process has compared the files
  InfluenceDescription asked = plan.description;
  asked.test_names = TestNames(flags, domain, all_tests);
  RETURN_IF_ERROR(CheckExisting(outputs, all_tests, asked));
  return plan;
}

absl::StatusOr<std::unique_ptr<GradientProducts>> OpenPoint(const CheckpointSet& checkpoint_set,
                                                            const InfluenceDomain& domain, size_t index) {
  RETURN_IF_ERROR(CheckInterrupt());
  absl::StatusOr<std::unique_ptr<GradientProducts>> made = domain.Products(index);
  if (made.ok() || absl::StartsWith(made.status().message(), checkpoint_set.paths[index])) return made;
  return absl::Status(made.status().code(), absl::StrCat(checkpoint_set.paths[index], ": ", made.status().message()));
}

absl::Status Verify(const TracinFlags& flags, const CheckpointSet& checkpoint_set, const InfluenceDomain& domain,
                    const Plan& plan) {
  for (size_t p = 0; flags.verify > 0 && p < checkpoint_set.size(); ++p) {
    ASSIGN_OR_RETURN(const std::unique_ptr<GradientProducts> products, OpenPoint(checkpoint_set, domain, p));
    ASSIGN_OR_RETURN(const Tensor preconditioner,
                     PreconditionerOf(checkpoint_set, p, domain.slices(), DType::kF64, flags.adam));
    products->SetParts(plan.options.parts);
    const absl::StatusOr<std::string> found =
        VerifyProducts(plan.train, plan.tests, plan.options.parts, preconditioner,
                       {flags.verify, flags.seed, domain.tolerance()}, products.get());
    if (absl::IsFailedPrecondition(found.status())) {
      return absl::FailedPreconditionError(absl::StrCat(checkpoint_set.paths[p], ": ", found.status().message()));
    }
    RETURN_IF_ERROR(found.status());
    PrintMessage(absl::StrCat("verify: ", checkpoint_set.paths[p], ": ", *found));
  }
  return absl::OkStatus();
}

// Resumes from, and keeps, the partial file beside the output.
class PartialRun {
 public:
  // path: of the output; "" if nothing is to be kept.
  PartialRun(const std::string& path, const InfluenceDescription& description, Metadata provenance)
      : path_(path.empty() ? "" : PartialPath(path)), description_(description), provenance_(std::move(provenance)) {}

  absl::Status Open(bool resume, InfluenceHooks* hooks) {
    if (path_.empty()) return absl::OkStatus();
    if (FileExists(path_) && resume) {
      ASSIGN_OR_RETURN(state_, ReadPartialInfluence(path_, description_));
      hooks->resume = &*state_;
      PrintMessage(absl::StrCat("goes on from ", path_));
    } else if (FileExists(path_)) {
      PrintMessage(absl::StrCat(path_,
                                " is left from a run that was stopped; --resume would go on there, this one "
                                "starts anew"));
    } else if (resume) {
      PrintMessage(absl::StrCat("there is no ", path_, ": starts anew"));
    }
    hooks->save = [this](const InfluenceState& state) {
      saved_ = true;
      return WritePartialInfluence(path_, state, description_, provenance_);
    };
    return absl::OkStatus();
  }

  absl::Status Stopped(const absl::Status& status) const {
    if (!saved_ || !absl::IsCancelled(status)) return status;
    return absl::CancelledError(
        absl::StrCat(status.message(), "; what was done is in ", path_, ": the same command with --resume goes on"));
  }

 private:
  const std::string path_;
  const InfluenceDescription& description_;
  const Metadata provenance_;
  std::optional<InfluenceState> state_;
  bool saved_ = false;
};

absl::Status WriteResult(const TracinResult& result, const OutputFlags& outputs, const Metadata& metadata) {
  RETURN_IF_ERROR(WriteTiepinFiles(result, outputs));
  if (!outputs.output.empty() && !outputs.Keeps(outputs.output)) {
    RETURN_IF_ERROR(WriteInfluence(outputs.output, result.influence, result.description, metadata));
  }
  if (outputs.prints_table()) std::cout << ResultToTsv(result);
  return absl::OkStatus();
}

// Returns the provenance for outputs of this run.
absl::StatusOr<Metadata> RunMetadata(const ToolRun& run, const TracinFlags& flags,
                                     const CheckpointSet& checkpoint_set) {
  std::vector<std::string> files = checkpoint_set.paths;
  files.insert(files.end(), flags.train.begin(), flags.train.end());
  files.insert(files.end(), flags.test.begin(), flags.test.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return OutputMetadata(run, InfluenceSchema().kind, files);
}

// path: the output beside which a stopped computation is kept until the output is written; "": it is not kept.
absl::StatusOr<Influence> Compute(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                                  const InfluenceDomain& domain, const Plan& plan, const std::string& path,
                                  const Metadata& metadata) {
  std::vector<std::unique_ptr<GradientProducts>> products;
  std::vector<GradientProducts*> pointers;
  const int64_t at_once = plan.options.checkpoints_at_once;
  for (size_t p = 0; p < checkpoint_set.size(); ++p) {
    if (at_once == 0) {
      ASSIGN_OR_RETURN(std::unique_ptr<GradientProducts> made, OpenPoint(checkpoint_set, domain, p));
      products.push_back(std::move(made));
    } else {
      const auto open = [&checkpoint_set, &domain, p] { return OpenPoint(checkpoint_set, domain, p); };
      ASSIGN_OR_RETURN(std::unique_ptr<GradientProducts> made, LazyProducts::Create(open));
      made->Release();
      products.push_back(std::move(made));
    }
    pointers.push_back(products.back().get());
  }
  InfluenceHooks hooks;
  std::optional<ProgressBar> progress;
  int64_t shown = 0;
  hooks.progress = [&](int64_t done, int64_t total) {
    const bool show = flags.progress && (flags.part.empty() || flags.shard == 1);
    if (!progress.has_value()) progress.emplace("tracin", total, show);
    progress->Add(done - shown);
    shown = done;
    return CheckInterrupt();
  };
  PartialRun partial(path, plan.description, metadata);
  RETURN_IF_ERROR(partial.Open(flags.resume, &hooks));
  absl::StatusOr<Influence> influence =
      ComputeInfluence({pointers, checkpoint_set.rates, plan.train, plan.tests, plan.near}, plan.options, hooks);
  if (progress.has_value()) progress->Finish();
  for (size_t p = 0; p < products.size(); ++p) {
    const std::string notes = products[p]->Notes();
    if (!notes.empty() && flags.part.empty()) PrintMessage(absl::StrCat(checkpoint_set.paths[p], ": ", notes));
  }
  if (!influence.ok()) return partial.Stopped(influence.status());
  return influence;
}

// INVALID_ARGUMENT if a part, complete or partial, belongs to another computation.
absl::Status CheckPartsToResume(const ShardParts& parts, InfluenceDescription description) {
  description.num_shards = static_cast<int>(parts.paths().size());
  for (description.shard = 1; description.shard <= description.num_shards; ++description.shard) {
    const std::string& path = parts.paths()[description.shard - 1];
    if (FileExists(path)) {
      ASSIGN_OR_RETURN(const InfluenceFile done, ReadInfluence(path));
      const std::string difference = DescriptionDifference(done.description, description, /*with_shard=*/true);
      if (difference.empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat(path, ": was left by another computation, which differs in ",
                                                     difference, "; remove it to begin anew"));
    }
    if (FileExists(PartialPath(path))) RETURN_IF_ERROR(ReadPartialInfluence(PartialPath(path), description).status());
  }
  return absl::OkStatus();
}

// Computes the part of a process that was started for a shard.
absl::Status ComputePart(const TracinFlags& flags, const OutputFlags& outputs, const CheckpointSet& checkpoint_set,
                         const InfluenceDomain& domain, const Plan& plan, const Metadata& metadata) {
  if (flags.resume && FileExists(flags.part)) return absl::OkStatus();  // CheckPartsToResume has verified it
  // Remove a part left from before, which would be taken for this run's.
  std::remove(flags.part.c_str());
  ASSIGN_OR_RETURN(const Influence influence,
                   Compute(flags, checkpoint_set, domain, plan, outputs.has_file() ? flags.part : "", metadata));
  RETURN_IF_ERROR(WriteInfluence(flags.part, influence, plan.description, metadata));
  std::remove(PartialPath(flags.part).c_str());
  return absl::OkStatus();
}

absl::Status ComputeInProcesses(const ToolRun& run, const TracinFlags& flags, const OutputFlags& outputs,
                                const InfluenceDescription& description, const Metadata& metadata,
                                TracinResult* result) {
  ASSIGN_OR_RETURN(std::optional<ShardParts> parts,
                   ShardParts::Create(outputs.has_file() ? outputs.output : "", flags.num_processes));
  const std::string beside = absl::StrCat("parts beside ", outputs.output);
  if (flags.resume) {
    RETURN_IF_ERROR(CheckPartsToResume(*parts, description));
    PrintMessage(absl::StrCat("goes on from ", parts->NumFound(), " ", beside, ", of ", flags.num_processes));
  } else if (outputs.has_file() && parts->NumFound() > 0) {
    PrintMessage(absl::StrCat(beside,
                              " are left from a run that was stopped; --resume would go on there, this one "
                              "starts anew"));
  }
  ASSIGN_OR_RETURN(const int status, parts->Run(run));
  if (status != 0) {
    const std::string kept =
        outputs.has_file() && parts->NumFound() > 0
            ? absl::StrCat("what was done is in ", beside, ": the same command with --resume goes on")
            : "";
    parts.reset();  // also removes the temporary directory
    const absl::Status interrupt = CheckInterrupt();
    if (!interrupt.ok() && kept.empty()) return interrupt;
    if (!interrupt.ok()) return absl::CancelledError(absl::StrCat(interrupt.message(), "; ", kept));
    if (!kept.empty()) PrintMessage(kept);
    ExitTool(run, status);
  }
  std::vector<InfluenceFile> files;
  for (const std::string& path : parts->paths()) {
    ASSIGN_OR_RETURN(InfluenceFile file, ReadInfluence(path));
    files.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(InfluenceFile merged, MergeInfluenceFiles(files));
  result->influence = std::move(merged.influence);
  result->description = std::move(merged.description);
  RETURN_IF_ERROR(WriteResult(*result, outputs, metadata));
  parts->Remove();
  return absl::OkStatus();
}

}  // namespace

absl::Status RunInfluence(const ToolRun& run, const TracinFlags& flags, const OutputFlags& given,
                          const CheckpointSet& checkpoint_set, const InfluenceDomain& domain) {
  if (flags.mode == TracinMode::kLeaveOneOut || flags.mode == TracinMode::kCurvature) {
    ASSIGN_OR_RETURN(
        const ParameterChoice parameters,
        ParametersFromFlags(domain.slices(), [&](const ParameterSlice& slice) { return domain.Place(slice); }));
    if (flags.mode == TracinMode::kCurvature) {
      ASSIGN_OR_RETURN(const Metadata metadata, RunMetadata(run, flags, checkpoint_set));
      return domain.WriteCurvatureFile(parameters.parts, given.output, metadata);
    }
    ASSIGN_OR_RETURN(const std::string table, domain.LeaveOneOutTable(parameters.parts));
    std::cout << table;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Plan plan, MakePlan(flags, given, checkpoint_set, domain));
  if (plan.is_done) {
    PrintMessage("--skip_existing: all output files are there already");
    return absl::OkStatus();
  }
  // A file that stays as it is needs no partial results beside it.
  OutputFlags outputs = given;
  if (given.Keeps(given.output)) outputs.output.clear();
  RETURN_IF_ERROR(Verify(flags, checkpoint_set, domain, plan));
  ASSIGN_OR_RETURN(const Metadata metadata, RunMetadata(run, flags, checkpoint_set));
  if (!flags.part.empty()) return ComputePart(flags, outputs, checkpoint_set, domain, plan, metadata);
  TracinResult result;
  result.num_tests = plan.num_asked;
  result.single = flags.mode == TracinMode::kSingle;
  result.domain = &domain;
  if (flags.num_processes > 1) return ComputeInProcesses(run, flags, outputs, plan.description, metadata, &result);
  const std::string path = outputs.has_file() ? outputs.output : "";
  ASSIGN_OR_RETURN(result.influence, Compute(flags, checkpoint_set, domain, plan, path, metadata));
  result.description = plan.description;
  RETURN_IF_ERROR(WriteResult(result, outputs, metadata));
  if (!path.empty()) std::remove(PartialPath(path).c_str());
  return absl::OkStatus();
}

namespace {

// Names come from --train and --test, scores from the file: both must be of the same examples.
absl::Status CheckNamedBy(const InfluenceDomain& domain, const std::string& path, const TracinResult& result) {
  const auto other = [&](const char* what, const char* flag, const char* more) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": was computed for other ", what, " than those of --", flag,
                                                   ", whose names would stand beside its scores: give the same files",
                                                   more));
  };
  std::vector<int64_t> train = result.influence.train_order;
  std::sort(train.begin(), train.end());
  // For structures, the hash is of those that count, and a sample does not tell the others.
  const bool is_sample =
      result.description.model == "atomistic" && result.description.settings.count("sample_rate") > 0;
  if (!is_sample && domain.TrainSha256(train) != result.description.train_sha256) {
    return other("training examples", "train", ", and --inverse_examples where that had it");
  }
  if (domain.num_tests() > 0 && domain.TestSha256() != result.description.test_sha256) {
    return other("tests", "test", ", and --test_split and --test_direction where that had them");
  }
  // The file says which atom a test is, and --test_atom which atoms the names are of.
  const std::vector<std::string>& names = result.description.test_names;
  const bool of_atoms =
      domain.num_tests() > 0 && names.size() == result.influence.tests.size() && domain.test_columns().back() == "atom";
  for (size_t t = 0; of_atoms && t < names.size(); ++t) {
    if (result.influence.tests[t] < 0) continue;  // a sum of tests
    const std::string atom = domain.TestCells(result.influence.tests[t]).back();
    if (!absl::EndsWith(names[t], absl::StrCat(" ", atom))) {
      return other("tests", "test", ", and --test_atom where that had it");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MergeRuns(const ToolRun& run, const OutputFlags& outputs, const InfluenceDomain* domain) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandInputs(run.args));
  std::vector<InfluenceFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(InfluenceFile file, ReadInfluence(path));
    files.push_back(std::move(file));
  }
  TracinResult result;
  ASSIGN_OR_RETURN(InfluenceFile merged, MergeInfluenceFiles(files));
  result.influence = std::move(merged.influence);
  result.description = std::move(merged.description);
  result.domain = domain;
  result.num_tests = result.influence.tests.size();
  for (const int64_t example : result.influence.train_order) {
    if (domain == nullptr || example < domain->num_train()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(paths[0], ": training example ", example, " is not in --train, which has ", domain->num_train()));
  }
  for (const int64_t test : result.influence.tests) {
    if (domain == nullptr || domain->num_tests() == 0 || test < domain->num_tests()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(paths[0], ": test ", test, " is not in --test, which has ", domain->num_tests()));
  }
  if (domain != nullptr) RETURN_IF_ERROR(CheckNamedBy(*domain, paths[0], result));
  RETURN_IF_ERROR(CheckExisting(outputs, result.influence.tests, result.description));
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, InfluenceSchema().kind, paths));
  return WriteResult(result, outputs, metadata);
}

}  // namespace rutile
