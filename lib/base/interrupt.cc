#include "lib/base/interrupt.h"

#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

volatile std::sig_atomic_t received = 0;

void Remember(int signal_number) {
  received = signal_number;
  if (signal_number == SIGINT) std::signal(SIGINT, SIG_DFL);  // the next Ctrl-C ends the process
}

}  // namespace

void InstallInterruptHandlers() {
  struct sigaction action = {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;  // a waiting read continues; loops check the flag between reads
  sigemptyset(&action.sa_mask);
  for (const int signal_number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal_number, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

int InterruptSignal() { return received; }

absl::Status CheckInterrupt() {
  const int signal_number = received;
  if (signal_number == 0) return absl::OkStatus();
  return absl::CancelledError(absl::StrCat("stopped by signal ", signal_number, " (", strsignal(signal_number), ")"));
}

void SetInterrupt(int signal_number) { received = signal_number; }

void SetInterruptForTest(int signal_number) { received = signal_number; }

}  // namespace rutile
