#include "lib/distributed/gloo_communicator.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/distributed/gloo_mesh.h"
#include "lib/distributed/nccl_sums.h"
#include "lib/distributed/processor_share.h"
#include "lib/task/torch/torch_facts.h"
#include "lib/tensorfile/torch_compat.h"
#include "lib/trace/scope.h"

#ifdef USE_C10D_GLOO
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ATen/ATen.h"
#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "lib/tensorfile/tensorfile_torch.h"
#include "torch/csrc/distributed/c10d/FileStore.hpp"
#include "torch/csrc/distributed/c10d/PrefixStore.hpp"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"
#endif

namespace rutile {

#ifdef USE_C10D_GLOO
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(2);
// Up to this many processes, each sends its values directly to every other (docs/performance-potentials.md, "Several
// processes").
constexpr int kDirectProcesses = 4;
constexpr int64_t kDirectBytes = 1 << 20;

// Returns an error that tells the user what to do, derived from c10d's exception. From the second line on, the text of
// the exception is a stack trace.
absl::Status Explain(const RankSettings& settings, const GlooOptions& options, absl::string_view doing,
                     const std::exception& error) {
  const std::string whole = error.what();
  const std::string said = whole.substr(0, std::min(whole.find('\n'), size_t{300}));
  const std::string place = absl::StrCat(settings.master_address, ":", settings.master_port);
  const std::string head = absl::StrCat("rank ", settings.rank, " of ", settings.size, ", ", doing, ": ");
  if (absl::StrContains(whole, "already in use") || absl::StrContains(whole, "EADDRINUSE")) {
    return absl::UnavailableError(
        absl::StrCat(head, "port ", settings.master_port, " is in use: set MASTER_PORT to another, in all processes"));
  }
  const bool late = absl::StrContains(whole, "imed out") || absl::StrContains(whole, "imeout");
  if (doing == "joining") {
    return absl::DeadlineExceededError(absl::StrCat(
        head, "not all of ", settings.size, " processes met at ", place, " within ",
        absl::FormatDuration(options.timeout), " (", said, "); see that all were started, that ", settings.launcher,
        "'s number of processes is right, that MASTER_ADDR and MASTER_PORT name rank 0's machine, or give a longer "
        "--dist_timeout"));
  }
  if (late) {
    return absl::DeadlineExceededError(absl::StrCat(
        head, "another process has not answered for ", absl::FormatDuration(options.timeout), " (", settings.size,
        " processes met at ", place,
        "): it hangs, the network is gone, or it is slower than that (then give a longer --dist_timeout); see what the "
        "others say. The run can be resumed from its last checkpoint"));
  }
  return absl::UnavailableError(absl::StrCat(head, "another process has gone (", said,
                                             "); see what the others say. The run can be resumed from "
                                             "its last checkpoint"));
}

std::string NumericAddress(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST];
  return ::getnameinfo(address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

// Returns this machine's address on the way to `host`. Returns "" if it is unknown or `host` is this machine, whose own
// name means 127.0.1.1 on Debian, or an address that other machines cannot reach. Sends no packet: connecting a
// datagram socket only asks the routing table.
std::string AddressToward(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return "";
  const auto free = absl::MakeCleanup([found] { ::freeaddrinfo(found); });
  const int socket = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return "";
  const auto close = absl::MakeCleanup([socket] { ::close(socket); });
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  if (::connect(socket, found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return "";
  }
  std::string text = NumericAddress(reinterpret_cast<sockaddr*>(&own), length);
  const bool here = absl::StartsWith(text, "127.") || text == NumericAddress(found->ai_addr, found->ai_addrlen);
  return here ? "" : text;
}

class GlooCommunicator : public Communicator {
 public:
  GlooCommunicator(RankSettings settings, GlooOptions options)
      : settings_(std::move(settings)), options_(std::move(options)) {}
  // After an error, sums in progress may run into another timeout, and destroying the groups would wait for them. The
  // run is at its end, so the groups are leaked.
  ~GlooCommunicator() override {
    if (!failed_) return;
    group_.release();
    background_.release();
    if (mesh_ != nullptr) mesh_->Abandon();
  }

  absl::Status Join() {
    return Guarded("joining", [&] {
      const std::chrono::milliseconds timeout(absl::ToInt64Milliseconds(options_.timeout));
      store_ = MakeStore(timeout);
      const absl::StatusOr<int> share = ProcessorShare(Tell("place", OwnPlace()), settings_.rank);
      if (!share.ok()) throw std::runtime_error(std::string(share.status().message()));
      share_ = *share;
      group_options_ = c10d::ProcessGroupGloo::Options::create(timeout);
      group_options_->threads = 1;  // calls come one after another
      group_options_->devices.push_back(MakeDevice());
      group_ = MakeGroup(store_);
      if (settings_.size > 1 && settings_.size <= kDirectProcesses) JoinMesh(timeout);
    });
  }

  int rank() const override { return settings_.rank; }
  int size() const override { return settings_.size; }
  int processors() const { return std::max(1, share_); }

  absl::Status Sum(absl::Span<double> values) override {
    return Reduce(at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble));
  }

  absl::Status Sum(Tensor* values) override { return Reduce(ToTorch(*values)); }

  void StartSum(Tensor values) override {
    if (!started_status_.ok()) return;
    started_bytes_ += values.num_bytes();
    started_status_ = Guarded("adding up", [&] {
      // Background sums use their own connections: the order of calls is defined within each group, not between groups.
      if (background_ == nullptr) {
        background_ = MakeGroup(c10::make_intrusive<c10d::PrefixStore>("background", store_));
      }
      std::vector<at::Tensor> tensors = {ToTorch(values)};
      started_.push_back(background_->allreduce(tensors));
    });
  }

  absl::Status FinishSums() override {
    const ProfileScope scope(Stage::kAllReduce);
    scope.Add(Counter::kBytes, started_bytes_);
    absl::Status status = std::exchange(started_status_, absl::OkStatus());
    if (status.ok()) {
      status = Guarded("adding up", [&] {
        for (const auto& work : started_) Await(*work);
      });
    }
    started_.clear();
    started_bytes_ = 0;
    return status;
  }

  absl::StatusOr<std::unique_ptr<DeviceSums>> JoinDevices(const std::string& device) override {
    char host[256] = "";
    ::gethostname(host, sizeof(host) - 1);
    const std::string bus = HasNccl() ? CudaBusId(device) : "";
    const std::string own = bus.empty() ? "" : absl::StrCat(host, " ", bus);
    ASSIGN_OR_RETURN(std::vector<std::string> all, Gather(own));
    std::sort(all.begin(), all.end());
    std::unique_ptr<DeviceSums> sums;
    if (all.front().empty() || std::adjacent_find(all.begin(), all.end()) != all.end()) return sums;
    RETURN_IF_ERROR(Guarded("joining on GPUs", [&] {
      sums = JoinNccl(c10::make_intrusive<c10d::PrefixStore>("nccl", store_), settings_.rank, settings_.size, device,
                      std::chrono::milliseconds(absl::ToInt64Milliseconds(options_.timeout)));
    }));
    return sums;
  }

  absl::StatusOr<std::vector<std::string>> Gather(absl::string_view own) override {
    // Each process fills its own part of an array of zeros; the sum then contains all parts.
    std::vector<double> sizes(settings_.size);
    sizes[settings_.rank] = static_cast<double>(own.size());
    RETURN_IF_ERROR(Sum(absl::MakeSpan(sizes)));
    int64_t total = 0, begin = 0;
    for (int r = 0; r < settings_.size; ++r) {
      if (r == settings_.rank) begin = total;
      total += static_cast<int64_t>(sizes[r]);
    }
    at::Tensor bytes = at::zeros({total}, at::kByte);
    if (!own.empty()) std::memcpy(bytes.data_ptr<uint8_t>() + begin, own.data(), own.size());
    if (total > 0) RETURN_IF_ERROR(Reduce(bytes));
    std::vector<std::string> texts;
    const char* at = reinterpret_cast<const char*>(bytes.data_ptr<uint8_t>());
    for (const double size : sizes) {
      texts.emplace_back(at, static_cast<size_t>(size));
      at += static_cast<size_t>(size);
    }
    return texts;
  }

 private:
  template <typename F>
  absl::Status Guarded(const char* doing, F work) {
    try {
      work();
    } catch (const std::exception& error) {
      failed_ = true;
      return Explain(settings_, options_, doing, error);
    }
    return absl::OkStatus();
  }

  // Exchanges texts under `key` through the store, before there are connections. Returns them by rank.
  std::vector<std::string> Tell(const std::string& key, const std::string& own) {
    store_->set(absl::StrCat(key, settings_.rank), std::vector<uint8_t>(own.begin(), own.end()));
    std::vector<std::string> all;
    for (int rank = 0; rank < settings_.size; ++rank) {
      const std::vector<uint8_t> text = store_->get(absl::StrCat(key, rank));
      all.emplace_back(text.begin(), text.end());
    }
    return all;
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> MakeGroup(const c10::intrusive_ptr<c10d::Store>& store) const {
    const SilentCout silent;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, settings_.rank, settings_.size, group_options_);
  }

  void JoinMesh(std::chrono::milliseconds timeout) {
    mesh_ = JoinGlooMesh(settings_.rank, settings_.size, c10::make_intrusive<c10d::PrefixStore>("mesh", store_),
                         group_options_->devices.front(), timeout, share_ > 0);
    if (mesh_ == nullptr) return;
    // Make sure that all are connected before the first message is sent.
    std::vector<at::Tensor> nothing = {at::zeros({1})};
    group_->allreduce(nothing)->wait();
  }

  absl::Status Reduce(at::Tensor values) {
    const ProfileScope scope(Stage::kAllReduce);
    scope.Add(Counter::kBytes, static_cast<int64_t>(values.nbytes()));
    return Guarded("adding up", [&] {
      if (mesh_ != nullptr && static_cast<int64_t>(values.nbytes()) <= kDirectBytes && values.is_floating_point()) {
        return SumDirectly(std::move(values));
      }
      std::vector<at::Tensor> tensors = {std::move(values)};
      Await(*group_->allreduce(tensors));
    });
  }

  // Adds the values in the order of ranks in every process.
  void SumDirectly(at::Tensor values) {
    std::vector<at::Tensor> given(settings_.size);
    std::vector<char*> bytes(settings_.size);
    for (int rank = 0; rank < settings_.size; ++rank) {
      given[rank] = rank == settings_.rank ? values : at::empty_like(values);
      bytes[rank] = static_cast<char*>(given[rank].data_ptr());
    }
    mesh_->Exchange(bytes[settings_.rank], static_cast<int64_t>(values.nbytes()), bytes);
    for (int rank = 1; rank < settings_.size; ++rank) given[0].add_(given[rank]);
    if (settings_.rank > 0) values.copy_(given[0]);
  }

  static void Await(c10d::Work& work) {
    // A sleeping processor can take long to wake, above all in a virtual machine; most sums finish while this polls.
    for (const absl::Time end = absl::Now() + kLook; !work.isCompleted() && absl::Now() < end;) ::sched_yield();
    work.wait();
  }

  // Makes the store through which processes find each other. Processes of one machine whose starter has given them a
  // file in memory use that; only others need a server, which accepts connections on every interface of rank 0's
  // machine.
  c10::intrusive_ptr<c10d::Store> MakeStore(std::chrono::milliseconds timeout) {
    if (!settings_.store_file.empty()) {
      auto store = c10::make_intrusive<c10d::FileStore>(settings_.store_file, settings_.size);
      store->setTimeout(timeout);
      return store;
    }
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(settings_.master_port);
    options.isServer = settings_.rank == 0;
    options.numWorkers = settings_.size;
    options.timeout = timeout;
    const absl::Time start = absl::Now();
    auto store = c10::make_intrusive<c10d::TCPStore>(settings_.master_address, options);
    // Rank 0 returns from the constructor without an error if others do not come in time, and would wait as long again.
    if (absl::Now() - start >= options_.timeout) throw std::runtime_error("timed out waiting for other processes");
    return store;
  }

  std::shared_ptr<gloo::transport::Device> MakeDevice() {
    using Group = c10d::ProcessGroupGloo;
    if (!options_.interface.empty()) return Group::createDeviceForInterface(options_.interface);
    if (settings_.size == settings_.local_size) return Group::createDeviceForHostname("127.0.0.1");
    std::string own = AddressToward(settings_.master_address);
    // On rank 0's machine this address is empty: use the way to the first other machine instead.
    for (const std::string& other : Tell("address", own)) {
      if (own.empty() && !other.empty()) own = AddressToward(other);
    }
    return own.empty() ? Group::createDefaultDevice() : Group::createDeviceForHostname(own);
  }

  const RankSettings settings_;
  const GlooOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> group_options_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  std::unique_ptr<GlooMesh> mesh_;  // for few processes
  // The group of StartSum; all processes join it at the first call.
  c10::intrusive_ptr<c10d::ProcessGroupGloo> background_;
  std::vector<c10::intrusive_ptr<c10d::Work>> started_;
  absl::Status started_status_;
  bool failed_ = false;
  int share_ = 1;  // of the machine's processors
  int64_t started_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankSettings& settings, const GlooOptions& options,
                                                       int* processors) {
  auto communicator = std::make_unique<GlooCommunicator>(settings, options);
  RETURN_IF_ERROR(communicator->Join());
  if (processors != nullptr) *processors = communicator->processors();
  return std::unique_ptr<Communicator>(std::move(communicator));
}

#else

absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankSettings&, const GlooOptions&, int*) {
  return absl::UnimplementedError(
      "this build cannot train with several processes: its LibTorch came without Gloo's headers; Debian's LibTorch "
      "with "
      "libgloo-dev has them");
}

#endif

}  // namespace rutile
