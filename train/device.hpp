#pragma once

#include <c10/core/Device.h>

#include "train/settings/config.hpp"

namespace headtorch::train {

/// The device to train on. CUDA's libraries are loaded here, and only when cuda is asked for or auto finds a
/// GPU; a call that asks LibTorch about CUDA earlier would keep it off.
/// @throws ConfigError when cuda is asked for and no GPU is there, Error(kSetupIncomplete) when a GPU is
/// there and its libraries are not.
c10::Device choose_device(DeviceChoice choice);

}  // namespace headtorch::train
