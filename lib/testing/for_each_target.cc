#include "lib/testing/for_each_target.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "lib/machine/simd.h"

namespace rutile {

void ForEachTarget(const std::function<void()>& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace rutile
