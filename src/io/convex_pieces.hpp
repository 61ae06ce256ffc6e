// Concave meshes as sets of convex pieces, prepared once and kept in a folder.
//
// The hull of a cup has no inside. `touchstone decompose MODEL` splits the meshes of a model into convex pieces (with
// CoACD, a Python package) and stores them under the hash of the mesh as the model uses it, scaled and placed; a model
// loaded with LoadOptions::mesh_collision = kPieces then finds them. A piece file is an OBJ file with one object ("o")
// for each piece; only its vertices count, since the pieces are convex. Any other program may write such files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/io/load_options.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

using ConvexPieces = std::vector<std::shared_ptr<const TriangleMesh>>;

// TOUCHSTONE_CACHE, or touchstone under XDG_CACHE_HOME or ~/.cache; then /pieces.
std::filesystem::path default_pieces_folder();

// The file of a mesh's pieces in a folder, whether it exists or not.
std::filesystem::path pieces_file(const TriangleMesh& mesh, const std::filesystem::path& folder);

// Vertices of each object of an OBJ text. Throws InputError for malformed numbers, for fewer than four vertices in an
// object and for no object at all.
ConvexPieces parse_pieces(std::string_view text, const std::string& name);

// nullopt when the folder has none for the mesh.
std::optional<ConvexPieces> read_pieces(const TriangleMesh& mesh, const std::filesystem::path& folder);

// The mesh as OBJ text, for programs that split meshes.
std::string to_obj(const TriangleMesh& mesh);

// The model with its colliding meshes as the options say. Meshes without prepared pieces stay hulls, with a warning.
ModelPtr with_mesh_collision(ModelPtr model, const LoadOptions& options);

}  // namespace touchstone
