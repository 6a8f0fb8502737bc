#include "lib/trace/scope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/profile/session.h"

namespace rutile {
namespace {

// Spends time of this thread, without sleeping, on any machine.
void Work(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
  }
}

const ProfileStage* Find(const ProfileData& data, const std::string& path, int thread = 0) {
  for (const ProfileStage& stage : data.stages) {
    if (stage.path == path && stage.thread == thread) return &stage;
  }
  return nullptr;
}

int64_t Count(const ProfileStage& stage, Counter counter) { return stage.counters[static_cast<int>(counter)]; }

TEST(ScopeTest, NamesAreDistinct) {
  std::set<std::string> names;
  for (int s = 0; s < kNumStages; ++s) names.insert(std::string(StageName(static_cast<Stage>(s))));
  EXPECT_EQ(names.size(), kNumStages);
  EXPECT_EQ(names.count(""), 0);
  EXPECT_EQ(StageName(Stage::kOther), "other");
  EXPECT_EQ(StageName(Stage::kWaitForData), "wait_for_data");
  EXPECT_EQ(StageName(Stage::kWaitForThreads), "wait_for_threads");
  EXPECT_EQ(StageName(Stage::kWaitForProcesses), "wait_for_processes");
  EXPECT_EQ(StageName(Stage::kStep), "step");
  EXPECT_EQ(StageName(Stage::kScores), "scores");
  EXPECT_EQ(StageName(Stage::kRank), "rank");
  EXPECT_EQ(StageName(Stage::kWrite), "write");
  EXPECT_EQ(CounterName(Counter::kExamples), "examples");
  EXPECT_EQ(CounterName(Counter::kBytes), "bytes");
}

TEST(ScopeTest, OffRecordsNothing) {
  ASSERT_FALSE(ProfilingIsOn());
  {
    const ProfileScope scope(Stage::kRead);
    EXPECT_FALSE(scope.is_on());
    scope.Add(Counter::kBytes, 7);
    ProfileCount(Counter::kAtoms, 7);
  }
  StartProfile({});
  const ProfileData data = StopProfile();
  EXPECT_EQ(Find(data, "read"), nullptr);
  EXPECT_EQ(Count(*Find(data, "other"), Counter::kAtoms), 0);
  EXPECT_FALSE(ProfilingIsOn());
}

TEST(ScopeTest, SelfTimeIsWithoutWhatIsInside) {
  StartProfile({});
  for (int i = 0; i < 3; ++i) {
    const ProfileScope outer(Stage::kValidation);
    Work(0.002);
    {
      const ProfileScope inner(Stage::kForward);
      Work(0.004);
    }
  }
  {
    const ProfileScope forward(Stage::kForward);
    Work(0.001);
  }
  const ProfileData data = StopProfile();
  const ProfileStage* const outer = Find(data, "validation");
  const ProfileStage* const inner = Find(data, "validation/forward");
  const ProfileStage* const alone = Find(data, "forward");
  ASSERT_TRUE(outer != nullptr && inner != nullptr && alone != nullptr);
  EXPECT_EQ(inner->name, "forward");
  EXPECT_EQ(outer->calls, 3);
  EXPECT_EQ(inner->calls, 3);
  EXPECT_EQ(alone->calls, 1);
  EXPECT_GE(inner->self_s, 0.0119);
  EXPECT_GE(outer->self_s, 0.0059);
  EXPECT_NEAR(outer->total_s, outer->self_s + inner->total_s, 1e-9);
  EXPECT_DOUBLE_EQ(inner->total_s, inner->self_s);
  EXPECT_LT(outer - data.stages.data(), inner - data.stages.data()) << "outer before inner";
}

TEST(ScopeTest, SelfTimesOfTheMainThreadAddUpToWallTime) {
  StartProfile({});
  Work(0.003);
  for (int i = 0; i < 100; ++i) {
    const ProfileScope a(Stage::kStep);
    const ProfileScope b(Stage::kNetwork);
    const ProfileScope c(Stage::kNetwork);  // a stage inside itself
    Work(0.0001);
  }
  const ProfileData data = StopProfile();
  double sum = 0;
  for (const ProfileStage& stage : data.stages) sum += stage.self_s;
  EXPECT_NEAR(sum, data.wall_s, 1e-6);
  EXPECT_GE(Find(data, "other")->self_s, 0.003);
  EXPECT_EQ(Find(data, "step/network/network")->calls, 100);
}

// Short stages are timed by samples: calls and counters are exact, times add up.
TEST(ScopeTest, SamplesOfShortStages) {
  constexpr int kSteps = 30000;
  StartProfile({});
  for (int i = 0; i < kSteps; ++i) {
    const ProfileScope step(Stage::kStep);
    step.Add(Counter::kExamples, 3);
    Work(1e-6);
    // Every second call is long: a rhythm that samples must not follow.
    const ProfileScope inner(i % 2 == 0 ? Stage::kForward : Stage::kBackward);
    inner.Add(Counter::kAtoms, 1);
    Work(i % 2 == 0 ? 3e-6 : 1e-6);
  }
  const ProfileData data = StopProfile();
  const ProfileStage* const step = Find(data, "step");
  const ProfileStage* const forward = Find(data, "step/forward");
  const ProfileStage* const backward = Find(data, "step/backward");
  ASSERT_TRUE(step != nullptr && forward != nullptr && backward != nullptr);
  EXPECT_EQ(step->calls, kSteps);
  EXPECT_EQ(forward->calls + backward->calls, kSteps);
  EXPECT_EQ(Count(*step, Counter::kExamples), 3 * kSteps);
  EXPECT_EQ(Count(*forward, Counter::kAtoms), kSteps / 2);
  // call_sampler_test tests the accuracy of samples; this test, which may run on a busy machine, checks how they are
  // added up.
  EXPECT_GT(step->total_s, 0.01);
  EXPECT_LT(step->total_s, data.wall_s + 1e-9);
  EXPECT_GT(forward->total_s, 0);
  EXPECT_GT(backward->total_s, 0);
  EXPECT_NEAR(step->total_s, step->self_s + forward->total_s + backward->total_s, 1e-9);
  double sum = 0;
  for (const ProfileStage& stage : data.stages) sum += stage.self_s;
  EXPECT_NEAR(sum, data.wall_s, 1e-6);
}

// Rare and long stages are timed inside short calls as well, and represent only themselves.
TEST(ScopeTest, LongStagesInShortOnesStandForThemselves) {
  StartProfile({});
  for (int i = 0; i < 5000; ++i) {
    const ProfileScope step(Stage::kStep);
    if (i % 1000 != 999) continue;
    const ProfileScope checkpoint(Stage::kCheckpoint);
    Work(0.004);
  }
  const ProfileData data = StopProfile();
  const ProfileStage* const step = Find(data, "step");
  const ProfileStage* const checkpoint = Find(data, "step/checkpoint");
  ASSERT_TRUE(step != nullptr && checkpoint != nullptr);
  EXPECT_EQ(checkpoint->calls, 5);
  EXPECT_GE(checkpoint->total_s, 0.0199);
  EXPECT_GE(step->total_s, checkpoint->total_s);
  EXPECT_LE(step->total_s, data.wall_s);
  EXPECT_NEAR(step->total_s, step->self_s + checkpoint->total_s, 1e-9);
}

TEST(ScopeTest, CountersGoToTheInnermostScope) {
  StartProfile({});
  ProfileCount(Counter::kStructures, 1);
  {
    const ProfileScope outer(Stage::kFeatures);
    outer.Add(Counter::kAtoms, 10);
    {
      const ProfileScope inner(Stage::kSearch);
      ProfileCount(Counter::kPairs, int64_t{1} << 40);
      outer.Add(Counter::kAtoms, 5);  // counted for the named scope
    }
    ProfileCount(Counter::kFlop, 3);
  }
  const ProfileData data = StopProfile();
  EXPECT_EQ(Count(*Find(data, "other"), Counter::kStructures), 1);
  EXPECT_EQ(Count(*Find(data, "features"), Counter::kAtoms), 15);
  EXPECT_EQ(Count(*Find(data, "features"), Counter::kFlop), 3);
  EXPECT_EQ(Count(*Find(data, "features/search"), Counter::kPairs), int64_t{1} << 40);
}

TEST(ScopeTest, ASessionBeginsWithNothing) {
  for (int session = 0; session < 2; ++session) {
    StartProfile({});
    {
      const ProfileScope scope(Stage::kForward);
      scope.Add(Counter::kAtoms, 5);
    }
    const ProfileData data = StopProfile();
    EXPECT_EQ(Find(data, "forward")->calls, 1);
    EXPECT_EQ(Count(*Find(data, "forward"), Counter::kAtoms), 5);
  }
}

TEST(ScopeTest, EachThreadIsItself) {
  StartProfile({});
  std::vector<std::thread> threads;
  std::atomic<int> living{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&living] {
      SetProfileThreadName("loader");
      for (int i = 0; i < 1000; ++i) {
        const ProfileScope scope(Stage::kMakeBatch);
        scope.Add(Counter::kExamples, 2);
      }
      for (++living; living < 2;) std::this_thread::yield();  // so that both live at once
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ProfileData data = StopProfile();
  std::set<std::string> names;
  int64_t examples = 0;
  for (const ProfileThread& thread : data.threads) {
    names.insert(thread.name);
    if (const ProfileStage* stage = Find(data, "make_batch", thread.id)) examples += Count(*stage, Counter::kExamples);
  }
  EXPECT_EQ(names, (std::set<std::string>{"main", "loader 1", "loader 2"}));
  EXPECT_EQ(examples, 4000);
}

TEST(ScopeTest, ThreadsOneAfterTheOtherAreOneRow) {
  StartProfile({});
  for (int t = 0; t < 20; ++t) {
    std::thread([] {
      SetProfileThreadName("reader");
      const ProfileScope scope(Stage::kParse);
    }).join();
  }
  const ProfileData data = StopProfile();
  ASSERT_EQ(data.threads.size(), 2);
  EXPECT_EQ(data.threads[1].name, "reader");
  EXPECT_EQ(Find(data, "parse", 1)->calls, 20);
}

// Scopes nested deeper than in any tool, for which there is no room, count for those around them.
void Nest(int depth) {
  const ProfileScope scope(depth % 2 == 0 ? Stage::kGraph : Stage::kSetup);
  if (depth > 0) Nest(depth - 1);
}

TEST(ScopeTest, TooManyPlacesAreLeftOut) {
  StartProfile({});
  Nest(1000);
  {
    const ProfileScope scope(Stage::kWrite);
    Work(0.001);
  }
  const ProfileData data = StopProfile();
  EXPECT_LE(data.stages.size(), 130);
  double sum = 0;
  for (const ProfileStage& stage : data.stages) sum += stage.self_s;
  EXPECT_NEAR(sum, data.wall_s, 1e-6);
  EXPECT_GE(Find(data, "other")->self_s, 0.001) << "no room for write";
}

TEST(ScopeTest, LongStagesLookAtMemory) {
  StartProfile({});
  {
    const ProfileScope scope(Stage::kSearch);
    Work(0.03);
  }
  { const ProfileScope scope(Stage::kParse); }
  const ProfileData data = StopProfile();
  EXPECT_GT(Find(data, "search")->peak_rss_bytes, 1 << 20);
  EXPECT_EQ(Find(data, "parse")->peak_rss_bytes, 0);
}

}  // namespace
}  // namespace rutile
