// The documents that the viewer's page reads: what goes in comes out, within the steps that the format promises.
#include "touchstone/viewer/replay.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/unpack.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/geometry/mesh.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/packing.hpp"
#include "touchstone/viewer/page.hpp"
#include "touchstone/viewer/page_link.hpp"
#include "touchstone/viewer/screenshot.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::unpack;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

json packed_json(const viewer::Packed& packed) {
  return {{"count", packed.count}, {"columns", packed.columns}, {"delta", packed.delta}, {"data", packed.data}};
}

TEST(Packing, Base64OfKnownTexts) {  // RFC 4648, section 10
  const auto of = [](const std::string& text) {
    return viewer::base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
}

TEST(Packing, IntegersComeBackExactly) {
  std::mt19937_64 random(7);
  for (const std::size_t columns : {1U, 3U, 7U}) {
    std::vector<std::int32_t> words;
    std::vector<std::int16_t> shorts;
    for (std::size_t i = 0; i < 50 * columns; ++i) {
      words.push_back(static_cast<std::int32_t>(random()));
      shorts.push_back(static_cast<std::int16_t>(random()));
    }
    for (const auto delta : {viewer::Delta::kNo, viewer::Delta::kRows}) {
      EXPECT_EQ(unpack<std::int32_t>(packed_json(viewer::pack(words, columns, delta))), words);
      EXPECT_EQ(unpack<std::int16_t>(packed_json(viewer::pack(shorts, columns, delta))), shorts);
    }
  }
  EXPECT_TRUE(unpack<float>(packed_json(viewer::pack(std::vector<float>{}, 1))).empty());
}

TEST(Packing, RoundingKeepsThirteenBits) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(-30.0, 30.0);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::pow(10.0, exponent(random)) * (i % 2 == 0 ? 1.0 : -1.0);
    EXPECT_NEAR(viewer::rounded_for_packing(value) / value, 1.0, std::ldexp(1.0, -13) + 1e-7);
  }
  EXPECT_EQ(viewer::rounded_for_packing(0.0), 0.0F);
  EXPECT_TRUE(std::isnan(viewer::rounded_for_packing(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isfinite(viewer::rounded_for_packing(std::numeric_limits<float>::max())));
}

TEST(Packing, QuantisationStaysInRange) {
  EXPECT_EQ(viewer::quantized(0.12344, 1e-4), 1234);
  EXPECT_EQ(viewer::quantized(1e30, 1e-5), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(viewer::quantized(-1e30, 1e-5), -std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(viewer::quantized(std::nan(""), 1e-5), 0);
  EXPECT_EQ(viewer::quantized_unit(1.5), 32767);
  EXPECT_EQ(viewer::quantized_unit(-1.0), -32767);
}

TEST(SceneDescription, HoldsTheQuadruped) {
  const ModelPtr model = load_scene("quadruped:flat");
  const json scene = json::parse(scene_json(*model, State(*model)));
  EXPECT_EQ(scene["dofs"], model->nv);
  ASSERT_EQ(scene["bodies"].size(), static_cast<std::size_t>(model->nbody));
  ASSERT_EQ(scene["shapes"].size(), static_cast<std::size_t>(model->nshape));
  ASSERT_EQ(scene["joints"].size(), static_cast<std::size_t>(model->njoint));
  ASSERT_EQ(scene["controls"].size(), static_cast<std::size_t>(model->nu));
  EXPECT_EQ(scene["bodies"][0]["parent"], -1);
  EXPECT_EQ(scene["bodies"][0]["moves"], false);
  const std::vector<Transform> poses = body_poses(*model, State(*model));
  for (std::size_t b = 1; b < poses.size(); ++b) {
    const json& body = scene["bodies"][b];
    EXPECT_EQ(body["name"], model->bodies[b].name);
    EXPECT_EQ(body["parent"], model->bodies[b].parent);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(body["pose"][static_cast<std::size_t>(k)], poses[b].position[k]);
    EXPECT_EQ(body["pose"][3], poses[b].rotation.w());
    const json& moments = body["inertia"]["moments"];
    EXPECT_NEAR(moments[0].get<double>() + moments[1].get<double>() + moments[2].get<double>(),
                model->bodies[b].inertia.inertia.trace(), 1e-12);
  }
  for (std::size_t s = 0; s < model->shapes.size(); ++s) {
    const ShapeElement& element = model->shapes[s];
    const json& shape = scene["shapes"][s];
    EXPECT_EQ(shape["type"], to_string(element.shape.type));
    EXPECT_EQ(shape["body"], element.body);
    EXPECT_EQ(shape["collides"], !element.visual_only);
    EXPECT_EQ(shape["size"][0], element.shape.size[0]);
    EXPECT_EQ(shape["color"][3], element.color[3]);
  }
  EXPECT_EQ(scene["controls"][0]["range"], json({-0.9, 0.9}));
  EXPECT_EQ(scene["joints"][0]["type"], "free");
  EXPECT_FALSE(scene["joints"][0].contains("axis"));
}

ModelPtr mesh_model() {
  const auto mesh = std::make_shared<TriangleMesh>();
  mesh->name = "wedge";
  mesh->vertices = {{0, 0, 0}, {0.3, 0, 0}, {0, 0.2, 0}, {0, 0, 0.1}};
  mesh->triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  const auto field = std::make_shared<HeightField>();
  field->rows = 2;
  field->columns = 3;
  field->radius_x = 1.5;
  field->radius_y = 1.0;
  field->elevation = 0.4;
  field->values = {0.0, 0.25, 0.5, 0.75, 1.0, 0.125};
  ModelBuilder builder;
  ShapeElement ground;
  ground.shape.type = ShapeType::kHeightField;
  ground.shape.height_field = field;
  builder.add_shape(ground);
  for (int i = 0; i < 2; ++i) {
    const int body =
        builder.add_body({.name = "b" + std::to_string(i), .inertia = {.mass = 1.0, .inertia = Matrix3::Identity()}});
    builder.add_joint({.name = "j" + std::to_string(i), .body = body, .type = JointType::kFree});
    ShapeElement shape;
    shape.body = body;
    shape.shape.type = ShapeType::kMesh;
    shape.shape.mesh = mesh;
    builder.add_shape(shape);
  }
  return builder.build();
}

TEST(SceneDescription, WritesSharedMeshesOnceAndCloseEnough) {
  const ModelPtr model = mesh_model();
  const json scene = json::parse(scene_json(*model, State(*model)));
  ASSERT_EQ(scene["meshes"].size(), 1U);
  EXPECT_EQ(scene["shapes"][1]["mesh"], 0);
  EXPECT_EQ(scene["shapes"][2]["mesh"], 0);
  const json& mesh = scene["meshes"][0];
  const TriangleMesh& original = *model->shapes[1].shape.mesh;
  const auto vertices = unpack<std::uint16_t>(mesh["vertices"]);
  ASSERT_EQ(vertices.size(), 3 * original.vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const std::size_t k = i % 3;
    const double low = mesh["lower"][k], high = mesh["upper"][k];
    EXPECT_NEAR(low + vertices[i] / 65535.0 * (high - low), original.vertices[i / 3][static_cast<int>(k)],
                0.3 / 65535.0);
  }
  const auto triangles = unpack<std::uint32_t>(mesh["triangles"]);
  EXPECT_EQ(triangles[4], 1U);
  EXPECT_EQ(triangles[11], 3U);

  ASSERT_EQ(scene["height_fields"].size(), 1U);
  const auto values = unpack<std::uint16_t>(scene["height_fields"][0]["values"]);
  ASSERT_EQ(values.size(), 6U);
  EXPECT_NEAR(values[3] / 65535.0, 0.75, 1e-5);
  EXPECT_EQ(scene["height_fields"][0]["radius"], json({1.5, 1.0}));
}

TEST(SceneDescription, ShowsTheGroupsThatMuJoCoShows) {
  std::string geoms;
  for (int group = 0; group <= 5; ++group) {
    for (const char* contact : {"", " contype='0' conaffinity='0'"})
      geoms += fmt::format("<geom size='0.1' mass='1' group='{}'{}/>", group, contact);
  }
  const ModelPtr model =
      load_mjcf_string("<mujoco><worldbody><body><freejoint/>" + geoms + "</body></worldbody></mujoco>");
  const json scene = json::parse(scene_json(*model, State(*model)));
  ASSERT_EQ(scene["shapes"].size(), 12U);
  for (std::size_t s = 0; s < scene["shapes"].size(); ++s) {
    const json& shape = scene["shapes"][s];
    EXPECT_EQ(shape["group"], s / 2);
    EXPECT_EQ(shape["visual"], s / 2 < 3) << "group " << s / 2;
    EXPECT_EQ(shape["collides"], s % 2 == 0);
  }
}

TEST(SceneDescription, SurvivesStrangeNames) {
  ModelBuilder builder;
  builder.add_body({.name = "a\"</script>\xff\n"});
  const ModelPtr model = builder.build();
  const std::string text = scene_json(*model, State(*model));
  EXPECT_THAT(json::parse(text)["bodies"][1]["name"].get<std::string>(), HasSubstr("a\"</script>"));
}

Replay flight() {
  Simulation motion(make_scene("quadruped:none"));
  return record(motion, 0.5);
}

TEST(ReplayDocument, PosesComeBackWithinTheirSteps) {
  const Replay replay = flight();
  ASSERT_EQ(replay.frames.size(), 31U);
  const json document = json::parse(replay_json(replay));
  EXPECT_EQ(document["format"], "touchstone-replay");
  EXPECT_EQ(document["version"], 1);
  const json& frames = document["frames"];
  const auto times = unpack<double>(frames["times"]);
  const auto positions = unpack<std::int32_t>(frames["positions"]);
  const auto rotations = unpack<std::int16_t>(frames["rotations"]);
  const auto bodies = static_cast<std::size_t>(replay.model->nbody);
  ASSERT_EQ(times.size(), replay.frames.size());
  ASSERT_EQ(positions.size(), 3 * bodies * times.size());
  const double quantum = frames["position_quantum"];
  double largest_position = 0.0, largest_angle = 0.0;
  for (std::size_t f = 0; f < times.size(); ++f) {
    EXPECT_EQ(times[f], replay.frames[f].time);
    for (std::size_t b = 0; b < bodies; ++b) {
      const std::int32_t* p = &positions[3 * (f * bodies + b)];
      const std::int16_t* q = &rotations[4 * (f * bodies + b)];
      const Transform& X = replay.frames[f].poses[b];
      largest_position = std::max(largest_position, (quantum * Vector3(p[0], p[1], p[2]) - X.position).norm());
      const Quaternion rotation = Quaternion(q[0], q[1], q[2], q[3]).normalized();
      largest_angle = std::max(largest_angle, rotation.angularDistance(X.rotation));
    }
  }
  EXPECT_LE(largest_position, 0.5e-5 * std::sqrt(3.0) + 1e-12);
  EXPECT_LE(largest_angle, 1e-4);
  EXPECT_GT(largest_angle, 0.0);
  EXPECT_FALSE(frames.contains("contacts"));
  ASSERT_EQ(document["channels"].size(), replay.channels.size());
  EXPECT_EQ(document["channels"][2]["name"], "total");
  const auto total = unpack<float>(document["channels"][2]["values"]);
  EXPECT_EQ(total[7], static_cast<float>(replay.frames[7].values[2]));
}

TEST(ReplayDocument, ContactsComeBack) {
  Replay replay = flight();
  replay.frames.resize(3);
  replay.frames[1].contacts = {{.position = {0.1, -2.0, 3.00001},
                                .normal = {0.0, 0.6, 0.8},
                                .force = {1.0, 2.0, -300.0},
                                .distance = -1e-4,
                                .friction = 0.7,
                                .mode = ContactMode::kSlip,
                                .island = 2,
                                .body_a = 0,
                                .body_b = 4},
                               {}};
  replay.frames[2].contacts = {{.mode = ContactMode::kStick}};
  replay.certificate = {{.name = "natv", .meaning = "", .value = 1e-9, .limit = 1e-6, .unit = "m/s"},
                        {.name = "nothing", .meaning = "", .value = std::nan(""), .limit = 1.0, .unit = ""}};
  const json document = json::parse(replay_json(replay));
  const json& contacts = document["frames"]["contacts"];
  EXPECT_EQ(unpack<std::uint32_t>(contacts["starts"]), (std::vector<std::uint32_t>{0, 0, 2, 3}));
  const auto positions = unpack<std::int32_t>(contacts["positions"]);
  EXPECT_EQ(positions[0], 10000);
  EXPECT_EQ(positions[2], 300001);
  const auto normals = unpack<std::int16_t>(contacts["normals"]);
  EXPECT_NEAR(normals[1] / 32767.0, 0.6, 2e-5);
  const auto values = unpack<float>(contacts["values"]);
  EXPECT_NEAR(values[2], -300.0, 300.0 / 8192);
  EXPECT_NEAR(values[3], -1e-4, 1e-4 / 8192);
  EXPECT_NEAR(values[4], 0.7, 0.7 / 8192);
  const auto labels = unpack<std::int32_t>(contacts["labels"]);
  EXPECT_EQ(std::vector<std::int32_t>(labels.begin(), labels.begin() + 4), (std::vector<std::int32_t>{0, 4, 2, 2}));
  EXPECT_EQ(labels[10], 1);
  EXPECT_EQ(document["certificate"][0]["passed"], true);
  EXPECT_EQ(document["certificate"][1]["passed"], false);
  EXPECT_TRUE(document["certificate"][1]["value"].is_null());
}

TEST(ReplayDocument, RefusesFramesThatDoNotFit) {
  EXPECT_THROW(replay_json({}), Error);
  Replay replay = flight();
  replay.frames[3].poses.pop_back();
  EXPECT_THROW(replay_json(replay), Error);
  replay = flight();
  replay.frames[3].time = 0.0;
  EXPECT_THROW(replay_json(replay), Error);
  replay = flight();
  replay.frames[3].time = std::nan("");
  EXPECT_THROW(replay_json(replay), Error);
  replay = flight();
  replay.channels.pop_back();
  EXPECT_THROW(replay_json(replay), Error);
  replay = flight();
  replay.frames.clear();
  EXPECT_EQ(json::parse(replay_json(replay))["frames"]["count"], 0);
}

TEST(Page, EscapesWhatWouldEndTheScript) {
  EXPECT_EQ(viewer::escaped_for_script(R"(["</script><!--"])"), R"(["\u003c/script>\u003c!--"])");
}

class PageFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("touchstone_page_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(PageFile, MakesNoFolder) {
  if (!has_viewer_page()) GTEST_SKIP() << "web/ was not built before";
  EXPECT_THROW(write_html(flight(), folder_ / "deep" / "file"), InputError);
  EXPECT_FALSE(fs::exists(folder_ / "deep"));
}

// Names may hold any bytes; the document is UTF-8, and nothing in it ends the script.
TEST_F(PageFile, IsUtf8WhateverNamesHold) {
  Replay replay = flight();
  replay.title = "\x1b[31m\xff</script>";
  const std::string document = viewer::escaped_for_script(replay_json(replay));
  EXPECT_EQ(valid_utf8(document), document);
  EXPECT_EQ(document.find('\x1b'), std::string::npos);
  EXPECT_EQ(document.find("</"), std::string::npos);
}

TEST(PageLinks, AreForTheirUserAlone) {
  fs::path file;
  {
    const PageLink link("http://127.0.0.1:1/?token=a&b='\"<");
    file = link.file();
    const std::string text = text_of(file);
    EXPECT_THAT(text, testing::HasSubstr("content='0; url=http://127.0.0.1:1/?token=a&#38;b=&#39;&#34;&#60;'"));
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::status(file.parent_path()).permissions(), fs::perms::owner_all);
    EXPECT_EQ(file.string().find("token"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(file.parent_path()));
}

TEST_F(PageFile, HoldsTheReplayAndAsksNobody) {
  Replay replay = flight();
  replay.title = "</script><script>alert(1)</script>";
  if (!has_viewer_page()) {
    EXPECT_THROW(write_html(replay, folder_ / "replay.html"), Error);
    GTEST_SKIP() << "built without web/";
  }
  write_html(replay, folder_ / "replay.html");
  const std::string page = text_of(folder_ / "replay.html");
  EXPECT_LT(page.size(), 1'000'000U) << "the page has about 0.6 MB, half a second of a quadruped almost nothing";
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(page, Not(HasSubstr("<link rel=\"stylesheet\"")));
  const std::size_t start = page.find("application/json\">") + 18;
  const json document = json::parse(page.substr(start, page.find("</script>", start) - start));
  EXPECT_EQ(document["title"], replay.title);
}

TEST_F(PageFile, PictureSaysWhichBrowserIsMissing) {
  const char* old_path = getenv("PATH");
  const std::string saved = old_path != nullptr ? old_path : "";
  setenv("PATH", folder_.c_str(), 1);
  try {
    write_png(flight(), folder_ / "picture.png");
    ADD_FAILURE() << "a picture without a browser";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("chromium"));
  }
  setenv("PATH", saved.c_str(), 1);
}

TEST(Record, KeepsTheFrameRate) {
  Simulation motion(make_scene("pendulum"));
  const Replay replay = record(motion, 1.0, 50.0);
  ASSERT_EQ(replay.frames.size(), 51U);
  EXPECT_NEAR(replay.frames[25].time, 0.5, motion.choices().time_step->value + 1e-9);
  EXPECT_NEAR(replay.frames.back().time, 1.0, 1e-9);
  EXPECT_THROW(record(motion, -1.0), Error);
}

}  // namespace
}  // namespace touchstone
