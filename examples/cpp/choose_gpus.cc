// Which GPUs of a node should a job get, and what are they worth? choose_gpus FILE|PRESET [GPUS]
// [BUSY]
//
//   choose_gpus dgx-1-v100 4
//   nvidia-smi topo -m > topo.txt; choose_gpus topo.txt 2 0,3

#include <bit>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>

#include "schedfw/topology/bandwidth.h"
#include "schedfw/topology/gpu_topology.h"
#include "schedfw/topology/presets.h"
#include "schedfw/topology/read_topology.h"

namespace {

std::string Names(schedfw::GpuMask gpus) {
  std::string out;
  for (int g = 0; g < schedfw::kMaxGpus; ++g) {
    if ((gpus >> g & 1) != 0) out += (out.empty() ? "" : " ") + std::to_string(g);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: choose_gpus FILE|PRESET [GPUS] [BUSY]\n";
    return 2;
  }
  auto node = schedfw::TopologyPreset(argv[1]);
  if (!node) node = schedfw::ReadTopology(argv[1]);
  if (!node) {
    std::cerr << node.error().message() << "\n";
    return 2;
  }
  std::int32_t wanted = 2;
  if (argc > 2 && !(std::istringstream(argv[2]) >> wanted)) {
    std::cerr << argv[2] << ": not a number of GPUs\n";
    return 2;
  }
  const schedfw::GpuTopology topology(*node);
  schedfw::GpuMask free = topology.all();
  std::istringstream busy(argc > 3 ? argv[3] : "");
  for (std::string text; std::getline(busy, text, ',');) {
    int gpu = 0;
    if (!(std::istringstream(text) >> gpu) || gpu < 0 || gpu >= topology.count()) {
      std::cerr << text << ": there is no such GPU (there are " << topology.count() << ")\n";
      return 2;
    }
    free = static_cast<schedfw::GpuMask>(free & ~(1U << gpu));
  }

  const schedfw::GpuMask chosen = topology.Choose(free, wanted);
  if (chosen == 0) {
    std::cout << std::popcount(free) << " GPUs are free, " << wanted << " are wanted\n";
    return 1;
  }
  const schedfw::GpuChoiceQuality quality = topology.QualityOf(free, chosen);
  const schedfw::AllReduceResult result =
      schedfw::AllReduce(*node, chosen, 1e9, schedfw::DeclaredBandwidths(node->gpu_model));
  std::cout << "GPUs " << Names(chosen) << ": " << quality.nvlinks << " NVLinks between them, "
            << (topology.OnOneIsland(chosen) ? "one island" : "several islands") << ", "
            << quality.numa_nodes << " NUMA nodes\n"
            << "AllReduce of 1 GB: " << result.busbw_gb_s << " GB/s of bus bandwidth, limited by "
            << result.bottleneck << "\n"
            << "left: GPUs " << Names(static_cast<schedfw::GpuMask>(free & ~chosen)) << " with "
            << quality.left_nvlinks << " NVLinks between them\n";
  return 0;
}
