// What static_hdf5.cmake renames the standard streams to.
#include <stdio.h>

__attribute__((visibility("hidden"))) FILE *touchstone_stdin, *touchstone_stdout, *touchstone_stderr;

__attribute__((constructor(101))) static void take_streams(void) {
  touchstone_stdin = stdin;
  touchstone_stdout = stdout;
  touchstone_stderr = stderr;
}
