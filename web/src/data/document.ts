// The documents that the page reads, as docs/viewer.md describes them.

export type Vector = [number, number, number];
export type Rotation = [number, number, number, number]; // w, x, y, z
export type Pose = [number, number, number, number, number, number, number]; // x, y, z, then the rotation

export interface Packed {
  type: "i16" | "u16" | "i32" | "u32" | "f32" | "f64";
  count: number;
  columns: number;
  delta: boolean;
  data: string;
}

export interface BodyInfo {
  name: string;
  parent: number;
  pose: Pose;
  mass: number;
  moves: boolean;
  com?: Vector;
  inertia?: { moments: Vector; axes: Rotation };
}

export type ShapeType =
  "plane" | "sphere" | "capsule" | "ellipsoid" | "cylinder" | "cone" | "box" | "mesh" | "height field";

export interface ShapeInfo {
  name: string;
  body: number;
  type: ShapeType;
  size: Vector;
  pose: Pose;
  color: [number, number, number, number];
  group: number;
  visual: boolean;
  collides: boolean;
  friction: number;
  material?: { name: string; shininess: number; specular: number; emission: number };
  mesh?: number;
  height_field?: number;
}

export interface MeshInfo {
  name: string;
  lower: Vector;
  upper: Vector;
  vertices: Packed;
  triangles: Packed;
}

export interface HeightFieldInfo {
  name: string;
  rows: number;
  columns: number;
  radius: [number, number];
  elevation: number;
  base: number;
  values: Packed;
}

export interface JointInfo {
  name: string;
  type: string;
  body: number;
  anchor?: Vector;
  axis?: Vector;
  range?: [number, number];
}

// What closes a loop: a frame in each of two bodies, and what is held between them.
export interface LoopInfo {
  name: string;
  type: string;
  active: boolean;
  a: number; // bodies
  b: number;
  frame_a: Pose;
  frame_b: Pose;
  held: [boolean, boolean, boolean]; // ways along the axes of the first frame
  turn: "none" | "axis" | "all" | "square"; // axis: z against z; square: z at right angles to x of the second frame
  length?: number; // of a distance, m
  pitch?: number; // of a screw, m along z per radian about it
}

export interface ControlInfo {
  name: string;
  range?: [number, number];
}

export interface SceneInfo {
  name: string;
  dofs: number;
  gravity: Vector;
  bodies: BodyInfo[];
  shapes: ShapeInfo[];
  joints: JointInfo[];
  loops?: LoopInfo[];
  controls: ControlInfo[];
  meshes: MeshInfo[];
  height_fields: HeightFieldInfo[];
}

export interface ChannelInfo {
  chart: string;
  name: string;
  unit: string;
  logarithmic: boolean;
}

export interface CertificateItem {
  name: string;
  meaning: string;
  value: number | null; // null: not a number
  limit: number | null;
  unit: string;
  passed: boolean;
}

export interface ReplayDocument {
  format: "touchstone-replay";
  version: number;
  generator: string;
  title: string;
  subtitle: string;
  scene: SceneInfo;
  frames: {
    count: number;
    times?: Packed;
    position_quantum?: number;
    positions?: Packed;
    rotations?: Packed;
    contacts?: { starts: Packed; positions: Packed; normals: Packed; values: Packed; labels: Packed };
    asleep?: { starts: Packed; bodies: Packed };
    marks?: { times: Packed; kinds: Packed };
  };
  channels: (ChannelInfo & { values: Packed; low?: Packed; high?: Packed })[];
  certificate: CertificateItem[];
}

export interface LiveDocument {
  format: "touchstone-live";
  version: number;
}

export type ViewerDocument = ReplayDocument | LiveDocument;
