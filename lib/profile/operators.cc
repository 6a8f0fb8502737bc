#include "lib/profile/operators.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace rutile {
namespace {

using Clock = std::chrono::steady_clock;

struct Call : at::ObserverContext {
  Clock::time_point start;
  Clock::duration inside{0};
  Call* outer = nullptr;
};

struct Sums {
  int64_t calls = 0;
  Clock::duration self{0};
};

thread_local Call* innermost = nullptr;

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, Sums> sums;
  std::optional<at::CallbackHandle> handle;
};

Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

std::unique_ptr<at::ObserverContext> Begin(const at::RecordFunction& /*function*/) {
  auto call = std::make_unique<Call>();
  call->outer = innermost;
  innermost = call.get();
  call->start = Clock::now();
  return call;
}

void End(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* const call = static_cast<Call*>(context);
  const Clock::duration elapsed = Clock::now() - call->start;
  innermost = call->outer;
  if (call->outer != nullptr) call->outer->inside += elapsed;
  Registry& registry = GetRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  Sums& sums = registry.sums[function.name()];
  ++sums.calls;
  sums.self += elapsed - call->inside;
}

}  // namespace

void StartOperators() {
  Registry& registry = GetRegistry();
  if (registry.handle.has_value()) return;
  {
    const std::lock_guard<std::mutex> lock(registry.mutex);
    registry.sums.clear();
  }
  registry.handle = at::addGlobalCallback(
      at::RecordFunctionCallback(Begin, End).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

std::vector<ProfileOperator> StopOperators(size_t most) {
  Registry& registry = GetRegistry();
  if (registry.handle.has_value()) at::removeCallback(*registry.handle);
  registry.handle.reset();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  std::vector<ProfileOperator> operators;
  for (const auto& [name, sums] : registry.sums) {
    operators.push_back({name, sums.calls, std::chrono::duration<double>(sums.self).count()});
  }
  registry.sums.clear();
  std::sort(operators.begin(), operators.end(), [](const ProfileOperator& a, const ProfileOperator& b) {
    return a.self_s != b.self_s ? a.self_s > b.self_s : a.name < b.name;
  });
  if (operators.size() > most) operators.resize(most);
  return operators;
}

}  // namespace rutile
