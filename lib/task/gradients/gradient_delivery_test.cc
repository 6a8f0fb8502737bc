#include "lib/task/gradients/gradient_delivery.h"

#include <cstdint>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

class Observer : public GradientObserver {
 public:
  void Finish(GradientRange range) override {}
  void AddLater(absl::Span<const int64_t> begin, const Tensor& rows) override {}
};

class Sink : public GradientSink {
 public:
  void Take(int64_t begin, const Tensor& values) override {}
};

TEST(GradientDeliveryTest, EachWayIsWhatItSays) {
  Observer observer;
  for (GradientObserver* const each :
       {static_cast<GradientObserver*>(nullptr), static_cast<GradientObserver*>(&observer)}) {
    const GradientDelivery add = GradientDelivery::Add(each), overwrite = GradientDelivery::Overwrite(each);
    EXPECT_FALSE(add.overwrites());
    EXPECT_EQ(add.observer(), each);
    EXPECT_EQ(add.sink(), nullptr);
    EXPECT_TRUE(overwrite.overwrites());
    EXPECT_EQ(overwrite.observer(), each);
    EXPECT_EQ(overwrite.sink(), nullptr);
  }
}

// What a sink takes is not added to, and nobody may sum it over processes.
TEST(GradientDeliveryTest, AStreamOverwritesAndHasNoObserver) {
  Sink sink;
  const GradientDelivery stream = GradientDelivery::Stream(&sink);
  EXPECT_TRUE(stream.overwrites());
  EXPECT_EQ(stream.observer(), nullptr);
  EXPECT_EQ(stream.sink(), &sink);
}

TEST(GradientDeliveryDeathTest, AStreamNeedsASink) { EXPECT_DEATH(GradientDelivery::Stream(nullptr), "sink"); }

}  // namespace
}  // namespace rutile
