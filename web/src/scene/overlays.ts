// What cannot be seen but matters: contact points, forces, friction cones, body frames, joint axes, loops, inertias.
import {
  Color,
  ConeGeometry,
  CylinderGeometry,
  DoubleSide,
  GreaterDepth,
  Group,
  Matrix4,
  MeshBasicMaterial,
  MeshStandardMaterial,
  Quaternion,
  SphereGeometry,
  BoxGeometry,
  Vector3,
} from "three";
import type { SceneInfo } from "../data/document";
import type { Contacts } from "../data/store";
import { bodyMatrix } from "./bodies";
import { arrowsOf, type Arrows, type ForceScale } from "./forces";
import { Instances } from "./instances";
import { LoopMarks } from "./loops";
import { modeColors } from "./palette";

export interface OverlayToggles {
  contacts: boolean;
  forces: boolean;
  cones: boolean;
  frames: boolean;
  joints: boolean;
  loops: boolean;
  inertia: boolean;
}

const up = new Vector3(0, 0, 1);
const axes = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];
const axisColors = [new Color("#d2453f"), new Color("#3f9c4c"), new Color("#3b72d1")];
const forceColor = new Color("#c2328f");
const jointColor = new Color("#8a5fd0");
const inertiaColor = new Color("#3aa0a8");
const identity = new Quaternion();

// Along +z from the origin, one long.
function along(geometry: ConeGeometry | CylinderGeometry): ConeGeometry | CylinderGeometry {
  geometry.rotateX(Math.PI / 2);
  return geometry;
}

// How clearly things are drawn that lie behind or inside bodies: the more there are, the more they would hide.
const behindOpacity = (count: number, least: number): number => Math.max(least, 0.4 / Math.sqrt(1 + count / 16));

export class Overlays {
  readonly group = new Group();
  drawn: Arrows | null = null; // of the moment that is shown
  cut = 0; // how many arrows should be longer
  private readonly points: Instances;
  private readonly shafts: Instances;
  private readonly heads: Instances;
  private readonly cones: Instances;
  private readonly sticks: Instances;
  private readonly pivots: Instances;
  private readonly boxes: Instances;
  private readonly matrix = new Matrix4();
  private readonly body = new Matrix4();
  private readonly quaternion = new Quaternion();
  private readonly direction = new Vector3();
  private readonly origin = new Vector3();
  private readonly scale = new Vector3();
  private readonly loops: LoopMarks;
  private readonly behind: MeshBasicMaterial; // arrows
  private readonly behindPoints: MeshBasicMaterial;
  private size = 0; // of a contact point, m
  private thinnest = 0; // of an arrow

  // `unit` is a length that looks right in this scene.
  constructor(
    private readonly sceneInfo: SceneInfo,
    private readonly unit: number,
    private readonly forceScale: ForceScale,
  ) {
    // Contacts and forces hide between and inside bodies: there they are drawn faintly.
    const inFront = new MeshBasicMaterial({ transparent: true }); // sorted among the transparent: after the faint ones
    this.behind = new MeshBasicMaterial({ depthFunc: GreaterDepth, depthWrite: false, transparent: true });
    this.behindPoints = this.behind.clone();
    // Frames and joints are inside bodies, and are asked for to be seen.
    const through = new MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95 });
    const glass = new MeshStandardMaterial({
      transparent: true,
      opacity: 0.32,
      side: DoubleSide,
      depthWrite: false,
      roughness: 0.7,
    });
    const shaft = along(new CylinderGeometry(1, 1, 1, 12)).translate(0, 0, 0.5);
    const front = (mesh: { renderOrder: number }): void => {
      mesh.renderOrder = 5;
    };
    const head = along(new ConeGeometry(1, 1, 16)).translate(0, 0, 0.5);
    this.points = new Instances(this.group, new SphereGeometry(1, 12, 8), inFront, 64, front, this.behindPoints);
    this.shafts = new Instances(this.group, shaft, inFront, 64, front, this.behind);
    this.heads = new Instances(this.group, head, inFront, 64, front, this.behind);
    // A cone that opens upwards from its tip at the origin.
    const cone = along(new ConeGeometry(1, 1, 28, 1, true))
      .rotateX(Math.PI)
      .translate(0, 0, 0.5);
    this.cones = new Instances(this.group, cone, glass, 64, (mesh) => (mesh.renderOrder = 3));
    this.sticks = new Instances(this.group, shaft, through, 64, front);
    this.pivots = new Instances(this.group, new SphereGeometry(1, 12, 8), through, 16, front);
    this.loops = new LoopMarks(sceneInfo.loops ?? []);
    this.boxes = new Instances(this.group, new BoxGeometry(2, 2, 2), glass, 64, (mesh) => (mesh.renderOrder = 3));
  }

  private place(direction: Vector3, origin: Vector3, thickness: number, length: number): Matrix4 {
    this.quaternion.setFromUnitVectors(up, direction);
    return this.matrix.compose(origin, this.quaternion, this.scale.set(thickness, thickness, length));
  }

  // `pixel` is the size of one where the camera looks, m: what is thinner is not seen.
  update(poses: Float32Array, contacts: Contacts | null, show: OverlayToggles, pixel: number): void {
    this.size = Math.max(0.02 * this.unit, 2 * pixel);
    this.thinnest = 0.7 * pixel;
    const all = [this.points, this.shafts, this.heads, this.cones, this.sticks, this.pivots, this.boxes];
    for (const instances of all) instances.begin();
    if (contacts) this.addContacts(contacts, show);
    this.drawn = contacts && show.forces ? arrowsOf(contacts, this.forceScale.patches) : null;
    this.cut = 0;
    if (this.drawn) this.addArrows(this.drawn);
    this.behind.opacity = behindOpacity(this.drawn?.count ?? 0, 0.14);
    this.behindPoints.opacity = behindOpacity(contacts?.count ?? 0, 0.04);
    if (show.frames) this.addFrames(poses);
    if (show.joints) this.addJoints(poses);
    if (show.loops) this.addLoops(poses, pixel);
    if (show.inertia) this.addInertias(poses);
    for (const instances of all) instances.end();
  }

  get hasLoops(): boolean {
    return this.loops.marks.length > 0;
  }

  // How many of each are drawn, and the colours of the friction cones.
  get counts(): { points: number; arrows: number; sticks: number; boxes: number; cones: string[]; pivots: string[] } {
    return {
      points: this.points.mesh.count,
      arrows: this.shafts.mesh.count,
      sticks: this.sticks.mesh.count,
      boxes: this.boxes.mesh.count,
      pivots: Array.from({ length: this.pivots.mesh.count }, (_, i) => this.pivots.colorAt(i)),
      cones: Array.from({ length: this.cones.mesh.count }, (_, i) => this.cones.colorAt(i)),
    };
  }

  private addContacts(contacts: Contacts, show: OverlayToggles): void {
    for (let i = 0; i < contacts.count; ++i) {
      const color = modeColors[contacts.labels[4 * i + 2]!] ?? modeColors[0]!;
      this.origin.fromArray(contacts.position, 3 * i);
      if (show.contacts) {
        this.points.add(this.matrix.compose(this.origin, identity, this.scale.setScalar(this.size)), color);
      }
      if (show.cones && contacts.friction[i]! > 0) {
        this.direction.fromArray(contacts.normal, 3 * i).normalize();
        const height = 0.16 * this.unit;
        this.cones.add(this.place(this.direction, this.origin, contacts.friction[i]! * height, height), color);
      }
    }
  }

  // One that is cut has two heads.
  private addArrows(arrows: Arrows): void {
    const { metresPerNewton, longest } = this.forceScale;
    for (let i = 0; i < arrows.count; ++i) {
      this.direction.fromArray(arrows.force, 3 * i);
      this.origin.fromArray(arrows.position, 3 * i);
      const force = this.direction.length();
      this.direction.divideScalar(force);
      const whole = force * metresPerNewton;
      const length = Math.min(whole, longest);
      const head = Math.min(0.35 * length, 4 * this.size);
      const thickness = Math.max(this.thinnest, Math.min(0.34 * this.size, 0.08 * length));
      this.shafts.add(this.place(this.direction, this.origin, thickness, length - head), forceColor);
      this.origin.addScaledVector(this.direction, length - head);
      this.heads.add(this.place(this.direction, this.origin, 2.6 * thickness, head), forceColor);
      if (whole <= longest) continue;
      ++this.cut;
      this.origin.addScaledVector(this.direction, -0.9 * head);
      this.heads.add(this.place(this.direction, this.origin, 2.6 * thickness, head), forceColor);
    }
  }

  private addFrames(poses: Float32Array): void {
    const length = 0.12 * this.unit;
    this.sceneInfo.bodies.forEach((info, b) => {
      if (!info.moves && b > 0) return;
      bodyMatrix(poses, b, this.body);
      axes.forEach((axis, k) => {
        this.origin.setFromMatrixPosition(this.body);
        this.direction.copy(axis).transformDirection(this.body);
        this.sticks.add(
          this.place(this.direction, this.origin, 0.05 * length, b === 0 ? 2 * length : length),
          axisColors[k]!,
        );
      });
    });
  }

  private addJoints(poses: Float32Array): void {
    const length = 0.16 * this.unit;
    for (const joint of this.sceneInfo.joints) {
      if (!joint.anchor) continue;
      bodyMatrix(poses, joint.body, this.body);
      this.origin.set(...joint.anchor).applyMatrix4(this.body);
      if (!joint.axis) {
        this.pivots.add(this.matrix.compose(this.origin, identity, this.scale.setScalar(0.12 * length)), jointColor);
        continue;
      }
      this.direction.set(...joint.axis).transformDirection(this.body);
      this.origin.addScaledVector(this.direction, -length / 2);
      this.sticks.add(this.place(this.direction, this.origin, 0.035 * length, length), jointColor);
    }
  }

  // A ball where frame b is, the axis if it is one, and a line from frame a if they are apart.
  private addLoops(poses: Float32Array, pixel: number): void {
    const length = 0.2 * this.unit;
    const radius = Math.max(0.11 * length, 3 * pixel);
    this.loops.update(poses);
    this.loops.marks.forEach((mark, i) => {
      const info = this.sceneInfo.loops![i]!;
      this.pivots.add(this.matrix.compose(mark.to, identity, this.scale.setScalar(radius)), mark.color);
      if (info.turn === "axis" || (info.held[0] && !info.held[2])) {
        this.origin.copy(mark.to).addScaledVector(mark.axis, -length / 2);
        this.sticks.add(this.place(mark.axis, this.origin, 0.3 * radius, length), mark.color);
      }
      const way = this.direction.subVectors(mark.to, mark.from).length();
      if (way < radius && info.length === undefined) return;
      this.direction.divideScalar(way || 1);
      this.sticks.add(this.place(this.direction, mark.from, 0.3 * radius, way), mark.color);
    });
  }

  // The box of uniform density with the same mass and moments.
  private addInertias(poses: Float32Array): void {
    this.sceneInfo.bodies.forEach((info, b) => {
      if (!info.inertia || !info.com || !info.moves) return;
      const [x, y, z] = info.inertia.moments;
      const half = (sum: number): number => Math.sqrt(Math.max(0, (1.5 * sum) / info.mass));
      this.scale.set(half(y + z - x), half(z + x - y), half(x + y - z)).max(smallest);
      const [qw, qx, qy, qz] = info.inertia.axes;
      this.origin.set(...info.com);
      this.matrix.compose(this.origin, this.quaternion.set(qx, qy, qz, qw), this.scale);
      this.boxes.add(this.matrix.premultiply(bodyMatrix(poses, b, this.body)), inertiaColor);
    });
  }
}

const smallest = new Vector3(1e-4, 1e-4, 1e-4);
