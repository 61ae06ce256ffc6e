#include "touchstone/io/mjcf_schema.hpp"

#include <algorithm>
#include <iterator>

namespace touchstone::mjcf {
namespace {

struct Row {
  std::string_view place;
  std::string_view tag;
  std::string_view attributes;  // separated by blanks; "*" stands for any
};

// What all rows of a place have in common.
constexpr Row kCommon[] = {
    {"sensor", "", "name nsample interp delay interval cutoff noise user"},
    {"actuator", "",
     "name class group nsample interp delay ctrlrange user ctrllimited forcelimited forcerange lengthrange gear "
     "damping "
     "armature cranklength joint jointinparent tendon slidersite cranksite site refsite"},
};

constexpr Row kRows[] = {
    {"option", "option",
     "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance "
     "sleep_tolerance gravity wind magnetic density viscosity o_margin o_solref o_solimp "
     "o_friction integrator cone jacobian solver iterations ls_iterations "
     "noslip_iterations ccd_iterations sdf_iterations sdf_initpoints actuatorgroupdisable"},
    {"option", "flag",
     "constraint equality frictionloss limit contact passive spring damper gravity clampctrl "
     "warmstart filterparent actuation refsafe sensor midphase eulerdamp autoreset "
     "nativeccd island multiccd override energy fwdinv invdiscrete sleep diagexact ipc "
     "speculative"},
    {"compiler", "compiler",
     "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate "
     "angle fitaabb eulerseq meshdir texturedir discardvisual usethread fusestatic "
     "inertiafromgeom inertiagrouprange saveinertial savecompiled savecanonical assetdir "
     "alignfree conflict passthrough"},
    {"compiler", "lengthrange",
     "mode useexisting uselimit accel maxforce timeconst timestep inttotal interval "
     "tolrange"},
    {"asset", "mesh",
     "name class content_type file vertex normal texcoord face refpos refquat scale "
     "smoothnormal maxhullvert inertia builtin params material"},
    {"asset", "hfield", "name content_type file nrow ncol size elevation"},
    {"asset", "skin", "name file material rgba inflate vertex texcoord face group"},
    {"asset", "texture",
     "name class type colorspace content_type file gridsize gridlayout fileright fileleft "
     "fileup filedown filefront fileback builtin rgb1 rgb2 mark markrgb random width "
     "height hflip vflip nchannel embed"},
    {"asset", "material",
     "name class texture texrepeat texuniform emission specular shininess reflectance "
     "metallic roughness rgba"},
    {"asset", "model", "name file content_type"},
    {"body", "body",
     "name childclass pos quat axisangle xyaxes zaxis euler mocap gravcomp sleep simple "
     "fuse user"},
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
     "fluidshape fluidcoef user"},
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
    {"body", "plugin", "plugin instance"},
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
     "width material margin stiffness damping armature rgba user"},
    {"tendon", "fixed",
     "name class group limited actuatorfrclimited range actuatorfrcrange solreflimit "
     "solimplimit solreffriction solimpfriction frictionloss springlength springyield "
     "margin stiffness damping armature user"},
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
    {"actuator", "plugin", "plugin instance actlimited actrange actdim dyntype dynprm actearly"},
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
    {"sensor", "plugin", "plugin instance objtype objname reftype refname"},
    {"keyframe", "key", "name time qpos qvel act mpos mquat ctrl plastic"},
    {"body", "frame", "name childclass pos quat axisangle xyaxes zaxis euler"},
    {"body", "replicate", "count sep offset euler childclass"},
    {"body", "composite", "*"},
    {"body", "flexcomp", "*"},
};

bool contains_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool starts = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (starts && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

const Row* find_row(std::string_view place, std::string_view tag) {
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.place == place && r.tag == tag; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool is_known_element(std::string_view place, std::string_view tag) { return find_row(place, tag) != nullptr; }

bool is_known_attribute(std::string_view place, std::string_view tag, std::string_view attribute) {
  const Row* row = find_row(place, tag);
  if (!row) return true;  // the element itself was reported
  if (row->attributes == "*" || contains_word(row->attributes, attribute)) return true;
  for (const Row& common : kCommon) {
    if (common.place == place && contains_word(common.attributes, attribute)) return true;
  }
  return false;
}

}  // namespace touchstone::mjcf
