// The mouse on bodies: a click selects, shift and drag pulls with a spring (live), a double click turns the orbit about
// the point. Everything else is left to the orbit control.
import { BufferGeometry, Float32BufferAttribute, Line, LineBasicMaterial, Plane, Vector3 } from "three";
import type { SceneInfo } from "../data/document";
import type { Command } from "../data/live";
import type { Bodies } from "../scene/bodies";
import type { Stage } from "../scene/stage";

export interface PointerHost {
  readonly scene: SceneInfo;
  readonly canDrag: boolean;
  readonly send: ((command: Command) => void) | null;
  select(body: number): void;
  latest(): void;
  invalidate(): void;
}

interface Drag {
  body: number;
  point: Vector3; // body frame
  target: Vector3; // world
  plane: Plane; // through the grabbed point, facing the camera
}

const clickDistance = 4; // px; more is a drag

export class BodyPointer {
  private readonly rope = new Line(new BufferGeometry(), new LineBasicMaterial({ color: 0xc2328f, depthTest: false }));
  private drag: Drag | null = null;
  private pressed: { x: number; y: number } | null = null;

  constructor(
    view: HTMLElement,
    private readonly stage: Stage,
    private readonly bodies: Bodies,
    private readonly host: PointerHost,
  ) {
    this.rope.geometry.setAttribute("position", new Float32BufferAttribute(6, 3));
    this.rope.visible = false;
    this.rope.renderOrder = 6;
    this.rope.frustumCulled = false;
    stage.scene.add(this.rope);

    // While capturing, before the orbit control, which must not see a drag of a body.
    const capture = { capture: true };
    view.addEventListener(
      "pointerdown",
      (event) => {
        this.press(event, view);
      },
      capture,
    );
    view.addEventListener("pointermove", (event) => {
      this.move(event);
    });
    view.addEventListener(
      "pointerup",
      (event) => {
        this.lift(event);
      },
      capture,
    );
    view.addEventListener("pointercancel", () => {
      this.release();
    });
    view.addEventListener("dblclick", (event) => {
      const hit = this.pick(event);
      if (!hit) return;
      stage.controls.target.copy(hit.point);
      host.invalidate();
    });
  }

  private pick(event: MouseEvent): { body: number; point: Vector3 } | null {
    return this.bodies.pick(this.stage.ray(event.clientX, event.clientY));
  }

  private press(event: PointerEvent, view: HTMLElement): void {
    this.pressed = { x: event.clientX, y: event.clientY };
    if (!this.host.canDrag || !event.shiftKey || event.button !== 0) return;
    const hit = this.pick(event);
    if (!hit || !this.host.scene.bodies[hit.body]?.moves) return;
    event.stopPropagation();
    view.setPointerCapture(event.pointerId);
    this.host.select(hit.body);
    this.host.latest();
    this.stage.controls.enabled = false;
    const toward = this.stage.camera.getWorldDirection(new Vector3());
    this.drag = {
      body: hit.body,
      point: hit.point.clone().applyMatrix4(this.bodies.matrix(hit.body).clone().invert()),
      target: hit.point.clone(),
      plane: new Plane().setFromNormalAndCoplanarPoint(toward, hit.point),
    };
  }

  private move(event: PointerEvent): void {
    const drag = this.drag;
    if (!drag || !this.stage.ray(event.clientX, event.clientY).ray.intersectPlane(drag.plane, drag.target)) return;
    this.rope.visible = true;
    this.host.invalidate();
    const { body, point, target } = drag;
    this.host.send?.({ type: "drag", body, point: point.toArray(), target: target.toArray() });
  }

  private lift(event: PointerEvent): void {
    const { pressed } = this;
    this.pressed = null;
    if (this.drag) {
      this.release();
    } else if (pressed && event.button === 0) {
      const moved = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y);
      if (moved < clickDistance) this.host.select(this.pick(event)?.body ?? -1);
    }
  }

  private release(): void {
    if (!this.drag) return;
    this.drag = null;
    this.rope.visible = false;
    this.stage.controls.enabled = true;
    this.host.send?.({ type: "release" });
    this.host.invalidate();
  }

  // Draws the rope from where the body is now.
  stretch(): void {
    if (!this.drag) return;
    const from = this.drag.point.clone().applyMatrix4(this.bodies.matrix(this.drag.body));
    const { target } = this.drag;
    const ends = this.rope.geometry.getAttribute("position");
    ends.setXYZ(0, from.x, from.y, from.z);
    ends.setXYZ(1, target.x, target.y, target.z);
    ends.needsUpdate = true;
  }
}
