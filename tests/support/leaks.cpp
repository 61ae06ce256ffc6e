// libhdf5 loses memory when it opens a damaged file. Memory that it asked for itself is no leak of ours.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
#endif
#endif
