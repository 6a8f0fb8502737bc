#include "lib/task/model_sharding.h"

#include "lib/task/task.h"

namespace rutile {

bool SynchronizesBatches(const Task& task) {
  return task.sharding() != nullptr && task.sharding()->SynchronizesBatches();
}

}  // namespace rutile
