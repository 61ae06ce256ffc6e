// Renderer, camera, light, sky.
import {
  BackSide,
  Color,
  DirectionalLight,
  HemisphereLight,
  Mesh,
  NeutralToneMapping,
  PCFSoftShadowMap,
  PerspectiveCamera,
  PMREMGenerator,
  Raycaster,
  Scene,
  ShaderMaterial,
  SphereGeometry,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { RoomEnvironment } from "three/examples/jsm/environments/RoomEnvironment.js";
import type { GroundColors } from "./ground";

export type Theme = "light" | "dark";
export type Quality = "low" | "high";

interface Look {
  zenith: string;
  horizon: string;
  ground: GroundColors;
  sun: number;
  ambient: number;
  environment: number;
}

const looks: Record<Theme, Look> = {
  light: {
    zenith: "#9fbdd9",
    horizon: "#f3f1ec",
    ground: { surface: "#cbc8c0", line: "#8d8a83" },
    sun: 1.9,
    ambient: 0.55,
    environment: 0.4,
  },
  dark: {
    zenith: "#0b0d10",
    horizon: "#2a3038",
    ground: { surface: "#2b2f35", line: "#5d646e" },
    sun: 2.0,
    ambient: 0.35,
    environment: 0.3,
  },
};

const shadowPixels = 2048;

export class Stage {
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(40, 1, 0.01, 1000);
  readonly renderer: WebGLRenderer;
  readonly controls: OrbitControls;
  private readonly sun = new DirectionalLight(0xffffff, 2);
  private readonly hemisphere = new HemisphereLight(0xffffff, 0x8a8378, 0.6);
  private readonly sky: ShaderMaterial;
  private readonly skyMesh: Mesh;
  private readonly pointer = new Vector2();
  private readonly raycaster = new Raycaster();
  look: Look = looks.light;

  constructor(container: HTMLElement, quality: Quality, changed: () => void) {
    const fine = quality === "high";
    this.renderer = new WebGLRenderer({ antialias: fine });
    this.renderer.setPixelRatio(fine ? Math.min(window.devicePixelRatio, 2) : 0.5);
    this.renderer.shadowMap.enabled = fine;
    this.renderer.shadowMap.type = PCFSoftShadowMap;
    this.renderer.toneMapping = NeutralToneMapping;
    container.append(this.renderer.domElement);

    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = 0.98 * Math.PI;
    this.controls.addEventListener("change", changed);

    this.sun.castShadow = fine;
    this.sun.shadow.mapSize.set(shadowPixels, shadowPixels);
    this.sun.shadow.bias = -0.0003;
    this.sun.shadow.radius = 4;
    this.scene.add(this.sun, this.sun.target, this.hemisphere);
    this.hemisphere.position.set(0, 0, 1);

    if (fine) {
      const generator = new PMREMGenerator(this.renderer);
      this.scene.environment = generator.fromScene(new RoomEnvironment(), 0.04).texture;
      this.scene.environmentRotation.set(Math.PI / 2, 0, 0); // z is up
      generator.dispose();
    }

    this.sky = new ShaderMaterial({
      side: BackSide,
      depthWrite: false,
      depthTest: false,
      toneMapped: false,
      uniforms: { zenith: { value: new Color() }, horizon: { value: new Color() } },
      vertexShader: `varying vec3 direction;
        void main() { direction = position; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`,
      fragmentShader: `varying vec3 direction; uniform vec3 zenith; uniform vec3 horizon;
        void main() {
          float up = clamp(normalize(direction).z, 0.0, 1.0);
          gl_FragColor = vec4(mix(horizon, zenith, pow(up, 0.6)), 1.0);
          #include <colorspace_fragment>
        }`,
    });
    this.skyMesh = new Mesh(new SphereGeometry(1, 32, 16), this.sky);
    this.skyMesh.renderOrder = -10;
    this.skyMesh.frustumCulled = false;
    this.scene.add(this.skyMesh);
  }

  setTheme(theme: Theme): void {
    this.look = looks[theme];
    this.sky.uniforms["zenith"]!.value = new Color(this.look.zenith);
    this.sky.uniforms["horizon"]!.value = new Color(this.look.horizon);
    this.sun.intensity = this.look.sun;
    this.hemisphere.intensity = this.look.ambient;
    this.scene.environmentIntensity = this.look.environment;
  }

  resize(width: number, height: number): void {
    this.renderer.setSize(width, height);
    this.camera.aspect = width / Math.max(1, height);
    this.camera.updateProjectionMatrix();
  }

  // Looks at a ball so that it fills most of the free part of the picture.
  frame(center: Vector3, radius: number): void {
    const fit = Math.min(1, this.camera.aspect);
    const distance = (1.4 * radius) / Math.sin((this.camera.fov * Math.PI) / 360) / fit;
    const direction = new Vector3(0.8, -1.15, 0.5).normalize();
    this.stopGliding();
    this.controls.target.copy(center);
    this.camera.position.copy(center).addScaledVector(direction, distance);
    this.camera.near = distance / 200;
    this.camera.far = distance * 400;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  // Forgets what is left of a movement of the mouse.
  private stopGliding(): void {
    const { enableDamping } = this.controls;
    this.controls.enableDamping = false;
    this.controls.update();
    this.controls.enableDamping = enableDamping;
  }

  get distance(): number {
    return this.camera.position.distanceTo(this.controls.target);
  }

  // Of the page, at the distance of what is looked at.
  get pixelsPerMetre(): number {
    const height = this.renderer.domElement.height / this.renderer.getPixelRatio();
    return height / (2 * Math.tan((this.camera.fov * Math.PI) / 360) * this.distance);
  }

  // The ray through a point of the window.
  ray(x: number, y: number): Raycaster {
    const box = this.renderer.domElement.getBoundingClientRect();
    this.pointer.set(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2);
    this.raycaster.setFromCamera(this.pointer, this.camera);
    return this.raycaster;
  }

  render(): void {
    const target = this.controls.target;
    const reach = 1.3 * this.distance;
    this.sun.position.copy(target).add(new Vector3(0.45, -0.35, 1).multiplyScalar(2 * reach));
    this.sun.target.position.copy(target);
    const shadow = this.sun.shadow.camera;
    shadow.left = shadow.bottom = -reach;
    shadow.right = shadow.top = reach;
    shadow.near = 0.05 * reach;
    shadow.far = 6 * reach;
    shadow.updateProjectionMatrix();
    this.sun.shadow.normalBias = (4 * reach) / shadowPixels; // two pixels of the shadow, against stripes
    this.skyMesh.position.copy(this.camera.position);
    this.skyMesh.scale.setScalar(this.camera.far / 2);
    this.renderer.render(this.scene, this.camera);
  }
}
