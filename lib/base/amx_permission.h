// Permission for AMX: Linux gives a process the 8 KB of tile registers only when it asks (arch_prctl(2), kernel 5.16).

#ifndef RUTILE_LIB_BASE_AMX_PERMISSION_H_
#define RUTILE_LIB_BASE_AMX_PERMISSION_H_

namespace rutile {

// Whether this process may use tiles with products of bfloat16, on all its threads. Asks at the first call, once for
// the process; any thread may call. False where processor or kernel have none, or the kernel refuses (a thread's
// alternate stack for signals that is too small for the registers is a reason).
bool AmxIsPermitted();

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_AMX_PERMISSION_H_
