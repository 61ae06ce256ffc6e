#include "touchstone/io/mjcf/mjcf_schema.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "touchstone/io/xml/xml_schema.hpp"

namespace touchstone::mjcf {
namespace {

using Row = SchemaRow;

// What all elements of a place have in common.
constexpr std::string_view kSensorAttributes = "name nsample interp delay interval cutoff noise user";
constexpr std::string_view kActuatorAttributes =
    "name class group nsample interp delay ctrlrange user ctrllimited forcelimited forcerange lengthrange gear damping "
    "armature cranklength joint jointinparent tendon slidersite cranksite site refsite";

constexpr Row kRows[] = {
    {"file", "mujoco", "model", "mujoco"},
    {"mujoco", "size", "*"},
    {"mujoco", "statistic", "center extent meaninertia meanmass meansize"},
    {"mujoco", "visual", "", "visual"},
    {"mujoco", "default", "class", "default"},
    {"mujoco", "custom", "", "custom"},
    {"mujoco", "extension", "", "extension"},
    {"mujoco", "asset", "", "asset"},
    {"mujoco", "worldbody", "*", "body"},
    {"mujoco", "contact", "", "contact"},
    {"mujoco", "deformable", "", "deformable"},
    {"mujoco", "equality", "", "equality"},
    {"mujoco", "tendon", "", "tendon"},
    {"mujoco", "actuator", "", "actuator"},
    {"mujoco", "sensor", "", "sensor"},
    {"mujoco", "keyframe", "", "keyframe"},
    {"visual", "global",
     "azimuth bvactive cameraid elevation ellipsoidinertia fovy glow ipd linewidth offheight offwidth orthographic "
     "realtime"},
    {"visual", "quality", "numquads numslices numstacks offsamples shadowsize"},
    {"visual", "headlight", "active ambient diffuse specular"},
    {"visual", "map",
     "actuatortendon alpha fogend fogstart force haze shadowclip shadowscale stiffness stiffnessrot torque zfar znear"},
    {"visual", "scale",
     "actuatorlength actuatorwidth camera com connect constraint contactheight contactwidth forcewidth framelength "
     "framewidth frustum jointlength jointwidth light selectpoint slidercrank"},
    {"visual", "rgba",
     "actuator actuatornegative actuatorpositive bv bvactive camera com connect constraint contactforce "
     "contactfriction contactgap contactpoint contacttorque crankbroken fog force frustum haze inertia joint light "
     "rangefinder selectpoint slidercrank"},
    {"custom", "numeric", "name data size"},
    {"custom", "text", "name data"},
    {"custom", "tuple", "name", "tuple"},
    {"tuple", "element", "objname objtype prm"},
    {"extension", "plugin", "plugin", "*"},
    {"deformable", "flex", "*", "*"},
    {"deformable", "skin", "*", "*"},
    {"default", "default", "class", "default"},
    {"default", "equality", "active solref solimp"},
    {"default", "skin", "*", "*"},
    {"default", "flex", "*", "*"},
    {"material", "layer", "role texture"},
    {"plugin", "plugin", "plugin instance", "*"},
    {"spatial", "site", "site"},
    {"spatial", "geom", "geom sidesite"},
    {"spatial", "pulley", "divisor"},
    {"fixed", "joint", "joint coef"},
    {"mujoco", "option",
     "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance "
     "sleep_tolerance gravity wind magnetic density viscosity o_margin o_solref o_solimp "
     "o_friction integrator cone jacobian solver iterations ls_iterations "
     "noslip_iterations ccd_iterations sdf_iterations sdf_initpoints actuatorgroupdisable",
     "option"},
    {"option", "flag",
     "constraint equality frictionloss limit contact passive spring damper gravity clampctrl "
     "warmstart filterparent actuation refsafe sensor midphase eulerdamp autoreset "
     "nativeccd island multiccd override energy fwdinv invdiscrete sleep diagexact ipc "
     "speculative"},
    {"mujoco", "compiler",
     "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate "
     "angle fitaabb eulerseq meshdir texturedir discardvisual usethread fusestatic "
     "inertiafromgeom inertiagrouprange saveinertial savecompiled savecanonical assetdir "
     "alignfree conflict passthrough",
     "compiler"},
    {"compiler", "lengthrange",
     "mode useexisting uselimit accel maxforce timeconst timestep inttotal interval "
     "tolrange"},
    {"asset", "mesh",
     "name class content_type file vertex normal texcoord face refpos refquat scale "
     "smoothnormal maxhullvert inertia builtin params material",
     "plugin"},
    {"asset", "hfield", "name content_type file nrow ncol size elevation"},
    {"asset", "skin", "name file material rgba inflate vertex texcoord face group", "*"},
    {"asset", "texture",
     "name class type colorspace content_type file gridsize gridlayout fileright fileleft "
     "fileup filedown filefront fileback builtin rgb1 rgb2 mark markrgb random width "
     "height hflip vflip nchannel embed"},
    {"asset", "material",
     "name class texture texrepeat texuniform emission specular shininess reflectance "
     "metallic roughness rgba",
     "material"},
    {"asset", "model", "name file content_type"},
    {"body", "body",
     "name childclass pos quat axisangle xyaxes zaxis euler mocap gravcomp sleep simple "
     "fuse user",
     "body"},
    {"body", "inertial", "pos quat mass diaginertia axisangle xyaxes zaxis euler fullinertia"},
    {"body", "joint",
     "name class type group pos axis springdamper limited actuatorfrclimited solreflimit "
     "solimplimit solreffriction solimpfriction stiffness range actuatorfrcrange "
     "actuatorgravcomp margin ref springref springyield armature damping frictionloss user"},
    {"body", "freejoint", "name group align"},
    {"body", "geom",
     "name class type contype conaffinity condim group priority size material friction "
     "mass density shellinertia solmix solref solimp margin gap surfacevel adhesion fromto "
     "pos quat axisangle xyaxes zaxis euler hfield mesh fitscale rgba castshadow "
     "fluidshape fluidcoef user",
     "plugin"},
    {"body", "attach", "model body frame prefix"},
    {"body", "site",
     "name class type group pos quat axisangle xyaxes zaxis euler material mesh size "
     "fromto rgba user"},
    {"body", "camera",
     "name class projection fovy ipd resolution output pos quat axisangle xyaxes zaxis "
     "euler mode target focal focalpixel principal principalpixel sensorsize user"},
    {"body", "light",
     "name class directional type castshadow active pos dir bulbradius intensity range "
     "attenuation cutoff softness exponent ambient diffuse specular mode target texture"},
    {"body", "plugin", "plugin instance", "*"},
    {"contact", "pair",
     "name class geom1 geom2 condim friction solref solreffriction solimp gap margin "
     "adhesion"},
    {"contact", "exclude", "name body1 body2"},
    {"equality", "connect", "name class active solref solimp body1 body2 anchor site1 site2"},
    {"equality", "weld", "name class active solref solimp body1 body2 relpose anchor site1 site2 torquescale"},
    {"equality", "joint", "name class active solref solimp joint1 joint2 polycoef"},
    {"equality", "tendon", "name class active solref solimp tendon1 tendon2 polycoef"},
    {"equality", "flex", "name class active solref solimp flex"},
    {"equality", "flexstrain", "name class active solref solimp flex cell"},
    {"tendon", "spatial",
     "name class group limited actuatorfrclimited range actuatorfrcrange solreflimit "
     "solimplimit solreffriction solimpfriction frictionloss springlength springyield "
     "width material margin stiffness damping armature rgba user",
     "spatial"},
    {"tendon", "fixed",
     "name class group limited actuatorfrclimited range actuatorfrcrange solreflimit "
     "solimplimit solreffriction solimpfriction frictionloss springlength springyield "
     "margin stiffness damping armature user",
     "fixed"},
    {"actuator", "general",
     "actlimited actrange body actdim input velrange ffrange inheritrange dyntype gaintype "
     "biastype dynprm gainprm biasprm actearly"},
    {"actuator", "motor", ""},
    {"actuator", "position", "inheritrange kp kv dampratio timeconst"},
    {"actuator", "velocity", "kv"},
    {"actuator", "intvelocity", "actlimited actrange inheritrange kp kv dampratio"},
    {"actuator", "orientation", "kp kv dampratio input"},
    {"actuator", "pid", "posrange velrange ffrange inheritrange kp kv dampratio ki imax slewmax input"},
    {"actuator", "damper", "kv"},
    {"actuator", "cylinder", "timeconst area diameter bias"},
    {"actuator", "muscle", "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax"},
    {"actuator", "adhesion", "body gain"},
    {"actuator", "dcmotor",
     "motorconst resistance nominal saturation inductance cogging controller thermal lugre "
     "input"},
    {"actuator", "plugin", "plugin instance actlimited actrange actdim dyntype dynprm actearly", "*"},
    {"sensor", "touch", "site"},
    {"sensor", "accelerometer", "site"},
    {"sensor", "velocimeter", "site"},
    {"sensor", "gyro", "site"},
    {"sensor", "force", "site"},
    {"sensor", "torque", "site"},
    {"sensor", "magnetometer", "site"},
    {"sensor", "camprojection", "site camera"},
    {"sensor", "rangefinder", "site camera data"},
    {"sensor", "jointpos", "joint"},
    {"sensor", "jointvel", "joint"},
    {"sensor", "tendonpos", "tendon"},
    {"sensor", "tendonvel", "tendon"},
    {"sensor", "actuatorpos", "actuator"},
    {"sensor", "actuatorvel", "actuator"},
    {"sensor", "actuatorfrc", "actuator"},
    {"sensor", "jointactuatorfrc", "joint"},
    {"sensor", "tendonactuatorfrc", "tendon"},
    {"sensor", "ballquat", "joint"},
    {"sensor", "ballangvel", "joint"},
    {"sensor", "jointlimitpos", "joint"},
    {"sensor", "jointlimitvel", "joint"},
    {"sensor", "jointlimitfrc", "joint"},
    {"sensor", "tendonlimitpos", "tendon"},
    {"sensor", "tendonlimitvel", "tendon"},
    {"sensor", "tendonlimitfrc", "tendon"},
    {"sensor", "framepos", "objtype objname reftype refname"},
    {"sensor", "framequat", "objtype objname reftype refname"},
    {"sensor", "framexaxis", "objtype objname reftype refname"},
    {"sensor", "frameyaxis", "objtype objname reftype refname"},
    {"sensor", "framezaxis", "objtype objname reftype refname"},
    {"sensor", "framelinvel", "objtype objname reftype refname"},
    {"sensor", "frameangvel", "objtype objname reftype refname"},
    {"sensor", "framelinacc", "objtype objname"},
    {"sensor", "frameangacc", "objtype objname"},
    {"sensor", "subtreecom", "body"},
    {"sensor", "subtreelinvel", "body"},
    {"sensor", "subtreeangmom", "body"},
    {"sensor", "insidesite", "site objtype objname enclosed"},
    {"sensor", "distance", "geom1 geom2 body1 body2"},
    {"sensor", "normal", "geom1 geom2 body1 body2"},
    {"sensor", "fromto", "geom1 geom2 body1 body2"},
    {"sensor", "contact", "geom1 geom2 body1 body2 subtree1 subtree2 site num data reduce"},
    {"sensor", "e_potential", ""},
    {"sensor", "e_kinetic", ""},
    {"sensor", "clock", ""},
    {"sensor", "tactile", "geom mesh"},
    {"sensor", "user", "objtype objname datatype needstage dim"},
    {"sensor", "plugin", "plugin instance objtype objname reftype refname", "*"},
    {"keyframe", "key", "name time qpos qvel act mpos mquat ctrl plastic"},
    {"body", "frame", "name childclass pos quat axisangle xyaxes zaxis euler", "body"},
    {"body", "replicate", "count sep offset euler childclass", "body"},
    {"body", "composite", "*", "*"},
    {"body", "flexcomp", "*", "*"},
};

// What may stand in a default class is described where it stands otherwise.
constexpr std::pair<std::string_view, std::string_view> kDefaults[] = {
    {"mesh", "asset"}, {"texture", "asset"}, {"material", "asset"}, {"joint", "body"},  {"geom", "body"},
    {"site", "body"},  {"camera", "body"},   {"light", "body"},     {"pair", "contact"}};

class MjcfSchema : public XmlSchema {
 public:
  MjcfSchema() : XmlSchema(kRows) {}

 protected:
  const SchemaRow* find(std::string_view place, std::string_view tag) const override {
    const SchemaRow* found = row(place, tag);
    if (found != nullptr || place != "default") return found;
    if (tag == "tendon") return row("tendon", "spatial");
    for (const auto& [name, home] : kDefaults) {
      if (name == tag) return row(home, tag);
    }
    return row("actuator", tag);
  }

  std::string_view common_attributes(const SchemaRow& row) const override {
    if (row.place == "sensor") return kSensorAttributes;
    return row.place == "actuator" ? kActuatorAttributes : std::string_view{};
  }

  std::vector<std::string> tags(std::string_view place) const override {
    std::vector<std::string> names = XmlSchema::tags(place);
    if (place != "default") return names;
    for (const auto& [name, home] : kDefaults) names.emplace_back(name);
    names.emplace_back("tendon");
    for (const std::string& actuator : XmlSchema::tags("actuator")) names.push_back(actuator);
    return names;
  }

  // A file that holds a part of a body is meant to be included. MuJoCo loads it as an empty world too.
  std::string ignored(std::string_view place, const XmlElement& element) const override {
    const bool part = element.tag == "body" || element.tag == "frame" || element.tag == "replicate";
    if (place != "mujoco" || !part) return {};
    return fmt::format("<{}> outside of <worldbody> is ignored: the file is a part, made to be included", element.tag);
  }
};

const MjcfSchema& schema() {
  static const MjcfSchema instance;
  return instance;
}

}  // namespace

bool is_known_element(std::string_view place, std::string_view tag) { return schema().row(place, tag) != nullptr; }

void check_schema(const XmlElement& root, WarningList& warnings) { schema().check(root, "file", warnings); }

}  // namespace touchstone::mjcf
