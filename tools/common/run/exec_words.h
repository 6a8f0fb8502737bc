// What a process prepares before exec: words in the form that exec takes, and signals that wait for the other program.

#ifndef RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_
#define RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_

#include <csignal>
#include <string>
#include <vector>

namespace rutile {

// Returns the signals that InstallInterruptHandlers handles.
inline sigset_t InterruptSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal_number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal_number);
  return signals;
}

// Returns pointers into *words, with a null at the end. Call it before fork, after which nothing may be allocated.
inline std::vector<char*> ExecWords(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_
