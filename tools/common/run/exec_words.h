// Converts the words of a command or an environment to the form that exec takes.

#ifndef RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_
#define RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_

#include <string>
#include <vector>

namespace rutile {

// Returns pointers into *words, with a null at the end. Call it before fork, after which nothing may be allocated.
inline std::vector<char*> ExecWords(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_EXEC_WORDS_H_
