// How large a scene is, and what lengths look right in it.
import { Vector3 } from "three";
import type { SceneInfo } from "../data/document";
import { poseSize } from "../data/store";
import { radiusOf } from "./geometry";

export interface Ball {
  center: Vector3;
  radius: number;
}

// The smallest ball around two.
export function ballOfBoth(a: Ball, b: Ball): Ball {
  const distance = a.center.distanceTo(b.center);
  if (distance + b.radius <= a.radius) return a;
  if (distance + a.radius <= b.radius) return b;
  const radius = (distance + a.radius + b.radius) / 2;
  return { center: a.center.clone().lerp(b.center, (radius - a.radius) / distance), radius };
}

// A ball around everything that moves (around everything, if nothing does). What moves without a shape counts by its mass.
export function ballAround(scene: SceneInfo, poses: Float32Array): Ball {
  const lower = new Vector3(Infinity, Infinity, Infinity);
  const upper = lower.clone().negate();
  const add = (moving: boolean): void => {
    for (const shape of scene.shapes) {
      const radius = radiusOf(shape, scene);
      if (radius === 0 || scene.bodies[shape.body]?.moves !== moving) continue;
      const center = new Vector3().fromArray(poses, shape.body * poseSize);
      const reach = new Vector3(...(shape.pose.slice(0, 3) as [number, number, number])).length();
      // A shape far from its body's origin is somewhere on a sphere about it: half of that is a fair guess.
      const r = new Vector3().setScalar(radius + reach / 2);
      lower.min(center.clone().sub(r));
      upper.max(center.clone().add(r));
    }
  };
  const addMasses = (): void => {
    scene.bodies.forEach((body, b) => {
      if (!body.moves || !body.inertia) return;
      const center = new Vector3().fromArray(poses, b * poseSize);
      const r = new Vector3().setScalar(Math.sqrt(Math.max(...body.inertia.moments) / body.mass));
      lower.min(center.clone().sub(r));
      upper.max(center.clone().add(r));
    });
  };
  add(true);
  if (lower.x > upper.x) addMasses();
  if (lower.x > upper.x) add(false);
  if (lower.x > upper.x) return { center: new Vector3(), radius: 1 };
  const center = lower.clone().add(upper).multiplyScalar(0.5);
  return { center, radius: Math.max(1e-3, 0.42 * upper.distanceTo(lower)) };
}

// `unit`: a few times the size of a typical body; `arrow`: how long the arrow of a typical force may be, so that it
// neither hides the bodies nor leaves the picture; `weight`: of a typical mechanism, N.
export function sizesOf(scene: SceneInfo, radius: number): { unit: number; arrow: number; weight: number } {
  const largest = new Map<number, number>();
  for (const shape of scene.shapes) {
    if (!scene.bodies[shape.body]?.moves) continue;
    largest.set(shape.body, Math.max(largest.get(shape.body) ?? 0, radiusOf(shape, scene)));
  }
  const sorted = [...largest.values()].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? radius;
  const unit = Math.min(radius, 4 * Math.max(median, 1e-6));
  const mass = scene.bodies.reduce((sum, body) => sum + (body.moves ? body.mass : 0), 0);
  const roots = scene.bodies.filter((body, i) => i > 0 && body.parent === 0 && body.moves).length;
  const gravity = Math.hypot(...scene.gravity) || 9.81;
  const weight = (mass / Math.max(1, roots)) * gravity;
  return { unit, arrow: Math.min(0.3 * radius, 0.5 * unit), weight: weight > 0 ? weight : 1 };
}
