// Shapes as triangles: unit primitives that are scaled for each copy, meshes and height fields.
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  ConeGeometry,
  CylinderGeometry,
  Matrix4,
  SphereGeometry,
  Vector3,
} from "three";
import { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { HeightFieldInfo, MeshInfo, SceneInfo, ShapeInfo } from "../data/document";
import { unpack } from "../data/unpack";

export type PrimitiveName = "box" | "sphere" | "cylinder" | "tube" | "cone";

// Along z, as the library has them; three.js builds them along y.
const upright = new Matrix4().makeRotationX(Math.PI / 2);

// `around`: how many sides a circle has.
export function primitive(name: PrimitiveName, around: number): BufferGeometry {
  switch (name) {
    case "box":
      return new BoxGeometry(2, 2, 2);
    case "sphere":
      return new SphereGeometry(1, around, Math.ceil(0.6 * around)).applyMatrix4(upright);
    case "cylinder":
      return new CylinderGeometry(1, 1, 2, around).applyMatrix4(upright);
    case "tube":
      return new CylinderGeometry(1, 1, 2, around, 1, true).applyMatrix4(upright);
    case "cone":
      return new ConeGeometry(1, 2, around).applyMatrix4(upright);
  }
}

// A part of a shape: a geometry, and where and how large it stands in the frame of the shape.
export interface Part {
  geometry: string; // a PrimitiveName, "mesh 3" or "height field 0"
  matrix: Matrix4;
}

function scaled(x: number, y: number, z: number, up = 0): Matrix4 {
  return new Matrix4().makeScale(x, y, z).setPosition(0, 0, up);
}

// Planes are not among the parts: the ground draws them.
export function partsOf(shape: ShapeInfo): Part[] {
  const [a, b, c] = shape.size;
  switch (shape.type) {
    case "sphere":
      return [{ geometry: "sphere", matrix: scaled(a, a, a) }];
    case "ellipsoid":
      return [{ geometry: "sphere", matrix: scaled(a, b, c) }];
    case "box":
      return [{ geometry: "box", matrix: scaled(a, b, c) }];
    case "cylinder":
      return [{ geometry: "cylinder", matrix: scaled(a, a, b) }];
    case "cone":
      return [{ geometry: "cone", matrix: scaled(a, a, b) }];
    case "capsule": // copies of any proportion share two geometries
      return [
        { geometry: "tube", matrix: scaled(a, a, b) },
        { geometry: "sphere", matrix: scaled(a, a, a, b) },
        { geometry: "sphere", matrix: scaled(a, a, a, -b) },
      ];
    case "mesh":
      return shape.mesh === undefined ? [] : [{ geometry: `mesh ${shape.mesh}`, matrix: new Matrix4() }];
    case "height field":
      return shape.height_field === undefined
        ? []
        : [{ geometry: `height field ${shape.height_field}`, matrix: new Matrix4() }];
    case "plane":
      return [];
  }
}

const manyShapes = 300; // more are drawn more coarsely
const creaseAngle = 0.6; // rad; sharper edges stay edges
const mostCreased = 200_000; // triangles; larger meshes are shaded smoothly throughout

async function meshGeometry(info: MeshInfo): Promise<BufferGeometry> {
  const [steps, triangles] = await Promise.all([unpack(info.vertices), unpack(info.triangles)]);
  const positions = new Float32Array(steps.length);
  for (let i = 0; i < steps.length; ++i) {
    const k = i % 3;
    positions[i] = info.lower[k]! + (steps[i]! / 65535) * (info.upper[k]! - info.lower[k]!);
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setIndex(new BufferAttribute(Uint32Array.from(triangles), 1));
  if (triangles.length / 3 <= mostCreased) return toCreasedNormals(geometry, creaseAngle);
  geometry.computeVertexNormals();
  return geometry;
}

async function heightFieldGeometry(info: HeightFieldInfo): Promise<BufferGeometry> {
  const values = await unpack(info.values);
  const { rows, columns } = info;
  const positions = new Float32Array(rows * columns * 3);
  const indices: number[] = [];
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < columns; ++c) {
      const i = r * columns + c;
      positions[3 * i] = info.radius[0] * ((2 * c) / (columns - 1) - 1);
      positions[3 * i + 1] = info.radius[1] * ((2 * r) / (rows - 1) - 1);
      positions[3 * i + 2] = (info.elevation * values[i]!) / 65535;
      if (r + 1 < rows && c + 1 < columns) {
        indices.push(i, i + 1, i + columns + 1, i, i + columns + 1, i + columns);
      }
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setIndex(indices);
  geometry.computeVertexNormals();
  return geometry;
}

// Every geometry that the shapes of a scene use, by the names of Part::geometry.
export async function geometriesOf(scene: SceneInfo): Promise<Map<string, BufferGeometry>> {
  const names: PrimitiveName[] = ["box", "sphere", "cylinder", "tube", "cone"];
  const around = scene.shapes.length > manyShapes ? 20 : 36;
  const all = new Map<string, BufferGeometry>(names.map((name) => [name, primitive(name, around)]));
  await Promise.all([
    ...scene.meshes.map(async (info, i) => all.set(`mesh ${i}`, await meshGeometry(info))),
    ...scene.height_fields.map(async (info, i) => all.set(`height field ${i}`, await heightFieldGeometry(info))),
  ]);
  return all;
}

// The radius of a ball about the shape's origin that holds it; 0 for planes.
export function radiusOf(shape: ShapeInfo, scene: SceneInfo): number {
  const [a, b, c] = shape.size;
  switch (shape.type) {
    case "plane":
      return 0;
    case "sphere":
      return a;
    case "capsule":
      return a + b;
    case "cylinder":
    case "cone":
      return Math.hypot(a, b);
    case "box":
      return Math.hypot(a, b, c);
    case "ellipsoid":
      return Math.max(a, b, c);
    case "mesh": {
      const mesh = shape.mesh === undefined ? undefined : scene.meshes[shape.mesh];
      return mesh ? Math.max(new Vector3(...mesh.lower).length(), new Vector3(...mesh.upper).length()) : 0;
    }
    case "height field": {
      const field = shape.height_field === undefined ? undefined : scene.height_fields[shape.height_field];
      return field ? Math.hypot(...field.radius) : 0;
    }
  }
}
