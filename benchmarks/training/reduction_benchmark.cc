// Measures how long two processes on one machine take to sum their gradients.
//
// Sizes are 1500 fp64 values (a potential's two terms, with the sums), and 50 000 and 5 million fp32 values (embeddings
// in 200 dimensions of 25 000 entities: 20 MB). sum: as training adds them. copy: the same bytes, from memory to
// memory.
//
// best_us and median_us are times of single calls, each right after a little work; a call that waits for the other
// process includes that, so on a machine with other work the best is most reliable. Both processes run each benchmark
// in lockstep; the second one prints nothing.

#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "lib/base/logging.h"
#include "lib/distributed/communicator.h"
#include "lib/distributed/gloo_communicator.h"
#include "lib/distributed/rank_settings.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

Communicator* communicator = nullptr;

// Returns a port on which nothing listens now.
int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  CHECK(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  CHECK(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

void LittleWork() {
  double x = 1;
  for (int i = 0; i < 60000; ++i) benchmark::DoNotOptimize(x *= 1.0000001);
}

void Time(benchmark::State& state, int64_t bytes, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (auto _ : state) {
    LittleWork();
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    state.SetIterationTime(seconds.back());
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["best_us"] = 1e6 * seconds[0];
  state.counters["median_us"] = 1e6 * seconds[seconds.size() / 2];
  state.counters["best_GB_per_s"] = static_cast<double>(bytes) / seconds[0] / 1e9;
}

Tensor Values(const benchmark::State& state) {
  return Tensor::Zeros(state.range(0) < 10000 ? DType::kF64 : DType::kF32, {state.range(0)});
}

void BM_Sum(benchmark::State& state) {
  Tensor values = Values(state);
  Time(state, values.num_bytes(), [&] { CHECK(communicator->Sum(&values).ok()); });
}

void BM_Copy(benchmark::State& state) {
  const Tensor from = Values(state);
  Tensor to = Values(state);
  Time(state, from.num_bytes(), [&] {
    std::memcpy(to.mutable_data(), from.data(), from.num_bytes());
    benchmark::ClobberMemory();
  });
}

// Registers a benchmark with the same number of calls in both processes.
void Register(const char* name, void (*run)(benchmark::State&)) {
  for (const int64_t size : {1500, 50000, 5000000}) {
    benchmark::RegisterBenchmark(name, run)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Arg(size)
        ->Iterations(size < 1000000 ? 500 : 40);
  }
}

int Run(int argc, char** argv) {
  const int port = FreePort();
  const pid_t child = ::fork();  // before anything of LibTorch runs
  CHECK_GE(child, 0);
  const int rank = child == 0 ? 1 : 0;
  if (rank == 1) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(std::freopen("/dev/null", "w", stdout) != nullptr);
    CHECK(std::freopen("/dev/null", "w", stderr) != nullptr);
  }
  RankSettings settings;
  settings.rank = rank;
  settings.size = settings.local_size = 2;
  settings.master_port = port;
  const auto joined = JoinGloo(settings, GlooOptions());
  CHECK(joined.ok()) << joined.status();
  communicator = joined->get();
  Register("sum", BM_Sum);
  Register("copy", BM_Copy);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  if (rank == 0) ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) { return rutile::Run(argc, argv); }
