// The bodies of a scene: every part of every shape is one copy in a set of instances, so that a thousand bodies are a
// handful of draw calls.
import {
  Color,
  Group,
  Matrix4,
  MeshStandardMaterial,
  Quaternion,
  Vector3,
  type Raycaster,
  type BufferGeometry,
  type InstancedMesh,
} from "three";
import type { Pose, SceneInfo, ShapeInfo } from "../data/document";
import { poseSize } from "../data/store";
import { partsOf } from "./geometry";
import { Instances } from "./instances";
import { islandColor, sleepColor, sleepShare } from "./palette";
import { shownShapes } from "./visibility";

interface Copy {
  body: number;
  matrix: Matrix4; // X_BS with the scale of the part
  color: Color;
}

// The copies of one geometry with one kind of surface.
interface Batch {
  instances: Instances;
  copies: Copy[];
}

export function poseMatrix(pose: Pose, out = new Matrix4()): Matrix4 {
  return out.compose(
    new Vector3(pose[0], pose[1], pose[2]),
    new Quaternion(pose[4], pose[5], pose[6], pose[3]),
    new Vector3(1, 1, 1),
  );
}

const position = new Vector3();
const rotation = new Quaternion();
const one = new Vector3(1, 1, 1);

export function bodyMatrix(poses: Float32Array, body: number, out: Matrix4): Matrix4 {
  const i = body * poseSize;
  position.set(poses[i]!, poses[i + 1]!, poses[i + 2]!);
  rotation.set(poses[i + 4]!, poses[i + 5]!, poses[i + 6]!, poses[i + 3]!);
  return out.compose(position, rotation, one);
}

function surfaceOf(shape: ShapeInfo): { key: string; material: MeshStandardMaterial } {
  const opacity = shape.color[3];
  const shine = shape.material?.shininess ?? 0.3;
  const roughness = Math.round(10 * (0.75 - 0.45 * Math.min(1, Math.max(0, shine)))) / 10;
  const clear = opacity < 0.999;
  return {
    key: `${roughness} ${clear ? opacity.toFixed(2) : "solid"}`,
    material: new MeshStandardMaterial({
      roughness,
      metalness: 0,
      transparent: clear,
      opacity: clear ? opacity : 1,
      depthWrite: !clear,
    }),
  };
}

export class Bodies {
  readonly group = new Group();
  private readonly visual = new Group();
  private readonly collision = new Group();
  private readonly hidden = new Group();
  readonly hasHidden: boolean; // shapes that are neither shown nor collide
  private readonly batches: Batch[] = [];
  private readonly visualBatches: Batch[];
  private readonly matrices: Matrix4[];
  private readonly sleeps: Uint8Array; // by body
  private readonly product = new Matrix4();
  private readonly tint = new Color();
  readonly accent = new Color(0x2f8fe0);

  constructor(scene: SceneInfo, geometries: Map<string, BufferGeometry>) {
    this.group.add(this.visual, this.collision, this.hidden);
    this.matrices = scene.bodies.map((body) => poseMatrix(body.pose));
    this.sleeps = new Uint8Array(scene.bodies.length);
    const shown = shownShapes(scene);
    this.visualBatches = this.build(
      scene.shapes.filter((shape, i) => shown[i] && shape.color[3] > 0),
      geometries,
      this.visual,
      null,
    );
    const rest = scene.shapes.filter((shape, i) => !shown[i] && !shape.collides && shape.color[3] > 0);
    this.hasHidden = rest.length > 0;
    const hiddenBatches = this.build(rest, geometries, this.hidden, null);
    const overlay = new MeshStandardMaterial({
      color: 0xffffff,
      roughness: 0.8,
      transparent: true,
      opacity: 0.42,
      depthWrite: false,
    });
    const collisionBatches = this.build(
      scene.shapes.filter((shape) => shape.collides),
      geometries,
      this.collision,
      overlay,
    );
    this.batches = [...this.visualBatches, ...collisionBatches, ...hiddenBatches];
  }

  private build(
    shapes: ShapeInfo[],
    geometries: Map<string, BufferGeometry>,
    parent: Group,
    overlay: MeshStandardMaterial | null,
  ): Batch[] {
    const batches = new Map<string, Batch>();
    for (const shape of shapes) {
      const surface = overlay ? { key: "overlay", material: overlay } : surfaceOf(shape);
      const color = overlay
        ? new Color(0xd9702b)
        : new Color().setRGB(shape.color[0], shape.color[1], shape.color[2], "srgb");
      const frame = poseMatrix(shape.pose);
      for (const part of partsOf(shape)) {
        const geometry = geometries.get(part.geometry);
        if (!geometry) continue;
        const key = `${part.geometry} ${surface.key}`;
        let batch = batches.get(key);
        if (!batch) {
          const style = (mesh: InstancedMesh): void => {
            mesh.castShadow = !overlay && !surface.material.transparent;
            mesh.receiveShadow = !overlay;
            mesh.renderOrder = overlay ? 2 : surface.material.transparent ? 1 : 0;
          };
          batch = { instances: new Instances(parent, geometry, surface.material, 16, style), copies: [] };
          batches.set(key, batch);
        }
        batch.copies.push({ body: shape.body, matrix: new Matrix4().multiplyMatrices(frame, part.matrix), color });
      }
    }
    return [...batches.values()];
  }

  show(visual: boolean, collision: boolean, hidden: boolean): void {
    this.visual.visible = visual;
    this.collision.visible = collision;
    this.hidden.visible = hidden;
  }

  // Moves everything; the selected body is tinted, those that sleep are darkened, and with islands each body takes the
  // colour of its island.
  update(poses: Float32Array, selected: number, islands: Int32Array | null, asleep?: ArrayLike<number>): void {
    this.sleeps.fill(0);
    for (let i = 0; asleep && i < asleep.length; ++i) this.sleeps[asleep[i]!] = 1;
    for (let b = 0; b < this.matrices.length; ++b) bodyMatrix(poses, b, this.matrices[b]!);
    for (const batch of this.batches) {
      const { instances, copies } = batch;
      instances.begin();
      for (const copy of copies) {
        this.product.multiplyMatrices(this.matrices[copy.body]!, copy.matrix);
        let color = copy.color;
        const island = islands?.[copy.body] ?? -1;
        if (island >= 0) color = this.tint.copy(islandColor(island));
        if (this.sleeps[copy.body]) color = this.tint.copy(color).lerp(sleepColor, sleepShare);
        if (copy.body === selected && selected > 0) color = this.tint.copy(color).lerp(this.accent, 0.55);
        instances.add(this.product, color);
      }
      instances.end();
    }
  }

  get shown(): { visual: boolean; collision: boolean; shapes: number } {
    const shapes = this.batches
      .filter(({ instances }) => instances.mesh.parent?.visible)
      .reduce((sum, { copies }) => sum + copies.length, 0);
    return { visual: this.visual.visible, collision: this.collision.visible, shapes };
  }

  // The colour that a body is drawn with (#rrggbb); null if nothing of it is drawn.
  colorOf(body: number): string | null {
    for (const { instances, copies } of this.visualBatches) {
      const index = copies.findIndex((copy) => copy.body === body);
      if (index >= 0) return instances.colorAt(index);
    }
    return null;
  }

  // The body under a ray and the point that it hits.
  pick(raycaster: Raycaster): { body: number; point: Vector3 } | null {
    let best: { body: number; point: Vector3 } | null = null;
    let nearest = Infinity;
    for (const batch of this.batches) {
      const mesh = batch.instances.mesh;
      if (!mesh.parent?.visible || !mesh.visible) continue;
      for (const hit of raycaster.intersectObject(mesh, false)) {
        if (hit.distance < nearest && hit.instanceId !== undefined) {
          nearest = hit.distance;
          best = { body: batch.copies[hit.instanceId]!.body, point: hit.point.clone() };
        }
      }
    }
    return best;
  }

  matrix(body: number): Matrix4 {
    return this.matrices[body]!;
  }
}
