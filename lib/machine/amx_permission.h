// Permission for AMX: Linux gives a process the 8 KB of tile registers only when it asks (arch_prctl(2), kernel 5.16).

#ifndef RUTILE_LIB_MACHINE_AMX_PERMISSION_H_
#define RUTILE_LIB_MACHINE_AMX_PERMISSION_H_

namespace rutile {

// True if all threads of this process may use tiles with products of bfloat16. The first call asks the kernel, once for
// the process; any thread may call. False if processor or kernel have no AMX, or the kernel refuses (a thread's
// alternate signal stack that is too small for the registers is one reason).
bool AmxIsPermitted();

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_AMX_PERMISSION_H_
