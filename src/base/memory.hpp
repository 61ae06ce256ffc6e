// How much memory there is, so that what cannot fit is refused instead of bringing the machine down.
#pragma once

#include <cstdint>
#include <string>

namespace touchstone {

// Bytes that this process may still take without others being swapped out: the system's estimate, and what a limit of
// its control group or of the user leaves. A very large number if none is known.
std::uint64_t available_memory();

// Bytes that this process holds; 0 if that is not known.
std::uint64_t resident_memory();

// "3.2 GiB", "512 MiB".
std::string memory_text(double bytes);

}  // namespace touchstone
