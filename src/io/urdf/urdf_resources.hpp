// The files a URDF refers to: finds them by URI and reads each mesh once.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/io/load_options.hpp"
#include "touchstone/io/mesh_file.hpp"

namespace touchstone {

class UrdfResources {
 public:
  // `base_dir` is the folder of the URDF file.
  UrdfResources(const std::filesystem::path& base_dir, const LoadOptions& options);

  // Where the file of a URI may be, best first:
  //   package://NAME/REST, model://NAME/REST   NAME/REST below the search paths, ROS_PACKAGE_PATH,
  //                                            AMENT_PREFIX_PATH/share (model: GAZEBO_MODEL_PATH too), then the
  //                                            folders above the URDF; also REST in any of these that is called NAME
  //   file://PATH, an absolute path            that path
  //   anything else                            relative to the URDF's folder, then to the search paths
  std::vector<std::filesystem::path> candidates(std::string_view uri) const;

  // The first candidate that is a file.
  std::optional<std::filesystem::path> find(std::string_view uri) const;

  struct Mesh {
    std::shared_ptr<const TriangleMesh> mesh;
    bool has_color = false;
    Eigen::Vector4d color{0.5, 0.5, 0.5, 1.0};
  };
  // Throws Error that lists the places searched, or says what is wrong with the file.
  Mesh mesh(const std::string& uri, const Vector3& scale);

 private:
  const MeshFile& file(const std::filesystem::path& path, const std::filesystem::path& key);

  std::filesystem::path base_dir_;
  std::vector<std::filesystem::path> search_paths_;
  std::string search_paths_name_;                       // as the user knows them
  std::vector<std::filesystem::path> package_folders_;  // search paths and environment, in order
  std::vector<std::filesystem::path> model_folders_;    // the same for model://
  std::map<std::filesystem::path, MeshFile> files_;
  std::map<std::pair<std::filesystem::path, std::array<double, 3>>, Mesh> meshes_;
};

}  // namespace touchstone
