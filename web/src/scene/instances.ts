// Many copies of one geometry, drawn in one call: positions and colours are written straight into its buffers. With a
// second material they are drawn again where other things hide them.
import {
  Color,
  DynamicDrawUsage,
  InstancedMesh,
  Matrix4,
  type BufferGeometry,
  type Material,
  type Object3D,
} from "three";

export class Instances {
  mesh: InstancedMesh;
  private hidden: InstancedMesh | null = null;
  private used = 0;

  constructor(
    private readonly parent: Object3D,
    private readonly geometry: BufferGeometry,
    private readonly material: Material,
    capacity = 16,
    private readonly style: (mesh: InstancedMesh) => void = () => undefined,
    private readonly behind: Material | null = null,
  ) {
    this.mesh = this.allocate(capacity);
  }

  private allocate(capacity: number): InstancedMesh {
    const mesh = new InstancedMesh(this.geometry, this.material, Math.max(1, capacity));
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.setColorAt(0, white); // creates the buffer
    mesh.frustumCulled = false; // the copies are elsewhere than the geometry
    mesh.count = 0;
    this.style(mesh);
    this.parent.add(mesh);
    if (this.behind) this.hidden = this.shadowOf(mesh, this.behind);
    return mesh;
  }

  // Draws the same copies, before them.
  private shadowOf(mesh: InstancedMesh, material: Material): InstancedMesh {
    const copy = new InstancedMesh(this.geometry, material, mesh.instanceMatrix.count);
    copy.instanceMatrix = mesh.instanceMatrix;
    copy.instanceColor = mesh.instanceColor;
    copy.frustumCulled = false;
    copy.count = 0;
    this.style(copy);
    copy.renderOrder = mesh.renderOrder - 1;
    this.parent.add(copy);
    return copy;
  }

  begin(): void {
    this.used = 0;
  }

  // Takes the next copy and returns its index.
  add(matrix: Matrix4, color: Color): number {
    if (this.used >= this.mesh.instanceMatrix.count) this.grow();
    this.mesh.setMatrixAt(this.used, matrix);
    this.mesh.setColorAt(this.used, color);
    return this.used++;
  }

  end(): void {
    this.mesh.count = this.used;
    this.mesh.visible = this.used > 0;
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
    this.mesh.boundingSphere = null; // computed again when a ray asks
    if (this.hidden) {
      this.hidden.count = this.used;
      this.hidden.visible = this.used > 0;
    }
  }

  // As #rrggbb.
  colorAt(index: number): string {
    this.mesh.getColorAt(index, seen);
    return `#${seen.getHexString()}`;
  }

  private grow(): void {
    const old = this.mesh;
    this.hidden?.removeFromParent();
    this.mesh = this.allocate(2 * old.instanceMatrix.count);
    this.mesh.instanceMatrix.array.set(old.instanceMatrix.array);
    if (old.instanceColor) this.mesh.instanceColor?.array.set(old.instanceColor.array);
    this.mesh.visible = old.visible;
    this.parent.remove(old);
    old.dispose();
  }
}

const white = new Color(1, 1, 1);
const seen = new Color();
