#include "tools/profile/tune_choices.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace rutile {
namespace {

using Settings = std::map<std::string, std::string>;

const TuneCandidate* Find(const TuneCandidates& candidates, const std::string& flags) {
  for (const TuneCandidate& candidate : candidates.tried) {
    if (TuneFlagsText(candidate.flags) == flags) return &candidate;
  }
  return nullptr;
}

bool LeftOut(const TuneCandidates& candidates, const std::string& name) {
  for (const auto& [its, why] : candidates.left_out) {
    if (its == name) return !why.empty();
  }
  return false;
}

Settings Potential() {
  return {{"batch_size", "32"},          {"threads", "2"},
          {"num_workers", "0"},          {"precision", "fp32"},
          {"hidden", "15,15"},           {"compile_mode", "compile"},
          {"compile_preset", "default"}, {"angular", "moments"},
          {"force_weight", "0"},         {"force_fraction", "1"},
          {"cached_features", "true"},   {"cache_neighbors", "false"}};
}

TEST(TuneChoicesTest, FeaturesNeedNothingThatMakesThem) {
  TuneData data;
  data.features = true;
  const TuneCandidates list = ListCandidates(data, Potential(), 2);
  EXPECT_TRUE(LeftOut(list, "num_workers"));
  EXPECT_TRUE(LeftOut(list, "cached_features"));
  EXPECT_TRUE(LeftOut(list, "angular"));
  EXPECT_EQ(Find(list, "num_workers=1"), nullptr);
  ASSERT_NE(Find(list, "batch_size=128"), nullptr);
  EXPECT_EQ(Find(list, "batch_size=128")->effect, Effect::kCourse);
  ASSERT_NE(Find(list, "threads=1"), nullptr);
  EXPECT_EQ(Find(list, "threads=2"), nullptr);
  EXPECT_EQ(Find(list, "force_fraction=0.25"), nullptr);
  EXPECT_NE(Find(list, "compile_preset=max-autotune"), nullptr);
}

// train refuses these with --potential=many-body.
TEST(TuneChoicesTest, ManyBodyPotentialsHaveFewerChoices) {
  Settings settings = Potential();
  settings["force_weight"] = "0.3";
  settings["hidden"] = "64,64";
  for (const char* flags : {"angular=triplets", "compile_preset=max-autotune", "precision=bf16-mixed"}) {
    settings["potential"] = "chebyshev";
    EXPECT_NE(Find(ListCandidates({}, settings, 2), flags), nullptr) << flags;
    settings["potential"] = "many-body";
    EXPECT_EQ(Find(ListCandidates({}, settings, 2), flags), nullptr) << flags;
  }
  EXPECT_TRUE(LeftOut(ListCandidates({}, settings, 2), "angular"));
  EXPECT_NE(Find(ListCandidates({}, settings, 2), "compile_preset=reduce-overhead"), nullptr);
}

TEST(TuneChoicesTest, ForcesHaveTheirOwnChoices) {
  Settings settings = Potential();
  settings["force_weight"] = "0.1";
  settings["cached_features"] = "false";
  settings["cache_neighbors"] = "true";
  settings["cache_geometry"] = "true";
  const TuneCandidates list = ListCandidates({}, settings, 2);
  EXPECT_NE(Find(list, "cache_geometry=false"), nullptr);
  EXPECT_NE(Find(list, "cache_neighbors=false"), nullptr);
  EXPECT_NE(Find(list, "angular=triplets"), nullptr);
  EXPECT_NE(Find(list, "num_workers=1"), nullptr);
  ASSERT_NE(Find(list, "force_fraction=0.25"), nullptr);
  EXPECT_EQ(Find(list, "force_fraction=0.25")->effect, Effect::kAccuracy);
  settings["force_fraction"] = "0.5";
  EXPECT_EQ(Find(ListCandidates({}, settings, 2), "force_fraction=0.25"), nullptr);
}

TEST(TuneChoicesTest, TriplesHaveBatchesThreadsPrecisionWorkers) {
  TuneData data;
  data.triples = true;
  Settings settings = Potential();
  settings["batch_size"] = "128";
  settings["threads"] = "1";
  const TuneCandidates list = ListCandidates(data, settings, 2);
  for (const char* flags : {"batch_size=512", "batch_size=64", "threads=2", "num_workers=1", "precision=bf16-mixed"}) {
    EXPECT_NE(Find(list, flags), nullptr) << flags;
  }
  EXPECT_EQ(Find(list, "precision=bf16-mixed")->effect, Effect::kAccuracy);
  EXPECT_EQ(Find(list, "angular=triplets"), nullptr);
  EXPECT_EQ(Find(list, "compile_preset=max-autotune"), nullptr);
}

TEST(TuneChoicesTest, PrecisionAndCompileMode) {
  Settings settings = Potential();
  settings["precision"] = "fp64";
  settings["compile_mode"] = "none";
  settings["hidden"] = "256,256";
  const TuneCandidates list = ListCandidates({}, settings, 2);
  EXPECT_NE(Find(list, "precision=fp32"), nullptr);
  EXPECT_NE(Find(list, "precision=bf16-mixed"), nullptr);
  EXPECT_NE(Find(list, "compile_mode=compile"), nullptr);
  EXPECT_TRUE(LeftOut(list, "compile_preset"));
}

TEST(TuneChoicesTest, OneProcessorHasNoThreadsToTry) {
  Settings settings = Potential();
  settings["optimizer"] = "lbfgs";
  const TuneCandidates list = ListCandidates({}, settings, 1);
  EXPECT_TRUE(LeftOut(list, "threads"));
  EXPECT_TRUE(LeftOut(list, "batch_size"));
}

TEST(TuneChoicesTest, InputsThatCannotBeReadAreTrainsBusiness) {
  const TuneData data = LookAtInputs({"no-such-file"});
  EXPECT_FALSE(data.triples || data.features || data.neighbors);
}

}  // namespace
}  // namespace rutile
