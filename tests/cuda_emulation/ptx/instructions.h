// The instructions that translated PTX calls (translate_ptx.py), by the names and with the meaning
// of NVIDIA's "PTX ISA" 9.0, chapter 9. Only those that nvcc makes of our kernels are here: another
// one does not compile until it is added.
#pragma once

#include "tests/cuda_emulation/ptx/instructions/comparisons.h"
#include "tests/cuda_emulation/ptx/instructions/conversions.h"
#include "tests/cuda_emulation/ptx/instructions/floats.h"
#include "tests/cuda_emulation/ptx/instructions/integers.h"
#include "tests/cuda_emulation/ptx/instructions/movement.h"
#include "tests/cuda_emulation/ptx/instructions/registers.h"
