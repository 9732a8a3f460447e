// Local response normalisation without oneDNN, where oneDNN has only its reference code (before
// AVX-512, or few channels). The reference code takes 50 times as long and would be two thirds of a
// training step.
#pragma once

#include <memory>
#include <string_view>

#include "workloads/backend/host/host_device.h"

namespace stepscope::workloads::host {

std::unique_ptr<Lrn> make_plain_lrn(HostDevice& device, std::string_view name,
                                    LrnShape const& shape);

}  // namespace stepscope::workloads::host
