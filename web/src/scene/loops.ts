// Joints that close loops: where they are, and how far they are open, by colour.
import { Color, Matrix4, Quaternion, Vector3 } from "three";
import type { LoopInfo } from "../data/document";
import { bodyMatrix } from "./bodies";

// Poses of a replay are exact to a few micrometres and a tenth of a milliradian: smaller errors are not told apart.
export const closedError = 3e-4; // m or rad
export const openError = 3e-2;
const closedColor = new Color("#2f9e62");
const halfColor = new Color("#e0b12a");
const openColor = new Color("#d2332e");
const idleColor = new Color("#7d8794");

// Green up to closedError, red from openError on, in between by its logarithm.
export function errorColor(error: number, color: Color): Color {
  const share = Math.log(error / closedError) / Math.log(openError / closedError);
  if (!(share > 0)) return color.copy(closedColor);
  return share < 0.5
    ? color.copy(closedColor).lerp(halfColor, 2 * share)
    : color.copy(halfColor).lerp(openColor, Math.min(1, 2 * share - 1));
}

export interface LoopMark {
  from: Vector3; // the origins of both frames
  to: Vector3;
  axis: Vector3; // z of the first frame
  error: number; // m or rad, the larger
  color: Color;
}

const one = new Vector3(1, 1, 1);

export class LoopMarks {
  readonly marks: LoopMark[];
  private readonly frames: { a: Matrix4; b: Matrix4 }[];
  private readonly body = new Matrix4();
  private readonly frameA = new Matrix4();
  private readonly frameB = new Matrix4();
  private readonly between = new Vector3();
  private readonly other = new Vector3();

  constructor(private readonly loops: LoopInfo[]) {
    const matrixOf = (pose: LoopInfo["frame_a"]): Matrix4 => {
      const [x, y, z, qw, qx, qy, qz] = pose;
      return new Matrix4().compose(new Vector3(x, y, z), new Quaternion(qx, qy, qz, qw), one);
    };
    this.frames = loops.map((loop) => ({ a: matrixOf(loop.frame_a), b: matrixOf(loop.frame_b) }));
    this.marks = loops.map(() => ({
      from: new Vector3(),
      to: new Vector3(),
      axis: new Vector3(),
      error: 0,
      color: new Color(),
    }));
  }

  update(poses: Float32Array): void {
    this.loops.forEach((loop, i) => {
      const mark = this.marks[i]!;
      this.frameA.multiplyMatrices(bodyMatrix(poses, loop.a, this.body), this.frames[i]!.a);
      this.frameB.multiplyMatrices(bodyMatrix(poses, loop.b, this.body), this.frames[i]!.b);
      mark.from.setFromMatrixPosition(this.frameA);
      mark.to.setFromMatrixPosition(this.frameB);
      mark.axis.setFromMatrixColumn(this.frameA, 2);
      mark.error = Math.max(this.wayError(loop, mark), this.turnError(loop), this.travelError(loop, mark));
      if (loop.active) errorColor(mark.error, mark.color);
      else mark.color.copy(idleColor);
    });
  }

  private wayError(loop: LoopInfo, mark: LoopMark): number {
    this.between.subVectors(mark.to, mark.from);
    if (loop.length !== undefined) return Math.abs(this.between.length() - loop.length);
    let squared = 0;
    loop.held.forEach((held, k) => {
      if (held) squared += this.other.setFromMatrixColumn(this.frameA, k).dot(this.between) ** 2;
    });
    return Math.sqrt(squared);
  }

  private turnError(loop: LoopInfo): number {
    if (loop.turn === "square") {
      this.between.setFromMatrixColumn(this.frameA, 2);
      return Math.abs(this.other.setFromMatrixColumn(this.frameB, 0).angleTo(this.between) - Math.PI / 2);
    }
    let largest = 0;
    for (let k = loop.turn === "all" ? 0 : 2; k < 3 && loop.turn !== "none"; ++k) {
      this.between.setFromMatrixColumn(this.frameA, k);
      largest = Math.max(largest, this.other.setFromMatrixColumn(this.frameB, k).angleTo(this.between));
    }
    return largest;
  }

  // How far a screw is along its axis from where its angle says. Poses do not tell whole turns: the nearest one counts.
  private travelError(loop: LoopInfo, mark: LoopMark): number {
    if (loop.pitch === undefined) return 0;
    const entry = (i: number, j: number): number =>
      this.between.setFromMatrixColumn(this.frameA, i).dot(this.other.setFromMatrixColumn(this.frameB, j));
    const angle = Math.atan2(entry(1, 0) - entry(0, 1), entry(0, 0) + entry(1, 1));
    const way = this.other.subVectors(mark.to, mark.from).dot(mark.axis);
    const off = way - loop.pitch * angle;
    const turn = 2 * Math.PI * Math.abs(loop.pitch);
    return Math.abs(turn > 0 ? off - turn * Math.round(off / turn) : off);
  }
}
