// MuJoCo's broad phase on drifting boxes: bench_collision_broad_phase_mujoco BOXES STEPS
//
// The time is that of MuJoCo's own timer of the broad phase: neither the kinematics nor the narrow phase counts.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include <mujoco/mujoco.h>

#include "drift.hpp"

namespace {

mjtNum milliseconds() { return 1e3 * drift::now(); }

mjModel* make_model(const drift::Scene& scene) {
  std::string xml = "<mujoco><size memory='2G'/><worldbody>";
  for (const drift::Box& box : scene.boxes) {
    const auto three = [](const double* x) {
      return std::to_string(x[0]) + " " + std::to_string(x[1]) + " " + std::to_string(x[2]);
    };
    xml += "<body pos='" + three(box.centre) + "'><freejoint/><geom type='box' size='" + three(box.half) + "'/></body>";
  }
  xml += "</worldbody></mujoco>";
  mjVFS vfs;
  mj_defaultVFS(&vfs);
  mj_addBufferVFS(&vfs, "scene.xml", xml.data(), static_cast<int>(xml.size()));
  char error[512] = "";
  mjModel* model = mj_loadXML("scene.xml", &vfs, error, sizeof error);
  mj_deleteVFS(&vfs);
  if (model == nullptr) std::fprintf(stderr, "%s\n", error);
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  mjModel* model = make_model(drift::Scene(count));
  if (model == nullptr) return 1;
  // Sizes as the file has them, six digits; positions are set below.
  mjData* data = mj_makeData(model);
  mjcb_time = milliseconds;
  return drift::run(count, std::atoi(argv[2]), [&](const drift::Scene& scene) {
    for (std::size_t i = 0; i < scene.boxes.size(); ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        data->qpos[7 * i + k] = scene.boxes[i].centre[k];
        model->geom_size[3 * i + k] = scene.boxes[i].half[k];
      }
    }
    mj_kinematics(model, data);
    mj_comPos(model, data);
    const double before = data->timer[mjTIMER_COL_BROAD].duration;
    mj_collision(model, data);
    const double time = 1e-3 * (data->timer[mjTIMER_COL_BROAD].duration - before);
    std::set<std::pair<int, int>> pairs;
    for (int c = 0; c < data->ncon; ++c) pairs.insert({data->contact[c].geom[0], data->contact[c].geom[1]});
    return std::pair(time, pairs.size());
  });
}
