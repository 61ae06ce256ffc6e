#pragma once

namespace touchstone {

// Throws Error if this processor lacks instructions that the library was compiled for. Programs and
// language bindings call it first, for otherwise they would die of an illegal instruction.
void require_supported_cpu();

}  // namespace touchstone
