// Planes, and the grid that gives a sense of scale. Lines are drawn by the surface's shader, so that they are smooth at
// every distance; far away the surface fades into the sky.
import {
  Color,
  DoubleSide,
  Group,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  PlaneGeometry,
  Vector3,
  type Material,
  type WebGLProgramParametersWithUniforms,
} from "three";
import type { SceneInfo } from "../data/document";
import { poseMatrix } from "./bodies";

export interface GroundColors {
  surface: string;
  line: string;
}

const vertexHead = `
varying vec3 vGround;
varying vec3 vGroundWorld;
`;
const fragmentHead = `
varying vec3 vGround;
varying vec3 vGroundWorld;
uniform float gridUnit;
uniform vec3 gridColor;
uniform float fadeRadius;
uniform vec3 fadeCenter;
float gridLines(vec2 p, float width) {
  vec2 w = max(fwidth(p), vec2(1e-6));
  vec2 d = abs(fract(p - 0.5) - 0.5) / w;
  vec2 ink = clamp(vec2(width) + 0.5 - d, 0.0, 1.0) * clamp(0.5 / w - 0.6, 0.0, 1.0);
  return max(ink.x, ink.y);
}
`;
const fragmentTail = `
float fine = 0.2 * gridLines(vGround.xy / gridUnit, 0.4);
float coarse = 0.7 * gridLines(vGround.xy / (10.0 * gridUnit), 0.6);
float ink = max(fine, coarse);
float far = 1.0 - smoothstep(0.15, 1.0, distance(vGroundWorld, fadeCenter) / fadeRadius);
`;

export class Ground {
  readonly group = new Group();
  readonly hasPlane: boolean;
  private readonly uniforms = {
    gridUnit: { value: 0.1 },
    gridColor: { value: new Color() },
    fadeRadius: { value: 50 },
    fadeCenter: { value: new Vector3() },
  };
  private readonly reach: number;
  private readonly surface: MeshStandardMaterial;
  private readonly lines: MeshBasicMaterial;
  private readonly planes: Mesh[] = [];

  // `unit` is the size of a typical body, `radius` that of the scene.
  constructor(scene: SceneInfo, unit: number, radius: number) {
    this.uniforms.gridUnit.value = 10 ** Math.floor(Math.log10(Math.max(unit, 1e-6)));
    this.surface = new MeshStandardMaterial({
      roughness: 0.95,
      metalness: 0,
      transparent: true,
      envMapIntensity: 0.35,
    });
    this.lines = new MeshBasicMaterial({ transparent: true, depthWrite: false, side: DoubleSide });
    this.addLines(this.surface, false);
    this.addLines(this.lines, true);

    this.reach = Math.max(20, 200 * radius);
    const reach = this.reach;
    const planes = scene.shapes.filter((shape) => shape.type === "plane");
    this.hasPlane = planes.length > 0;
    for (const plane of planes) {
      const [x, y] = plane.size;
      const mesh = new Mesh(new PlaneGeometry(x > 0 ? 2 * x : 2 * reach, y > 0 ? 2 * y : 2 * reach), this.surface);
      const body = scene.bodies[plane.body];
      mesh.applyMatrix4(poseMatrix(plane.pose));
      if (body) mesh.applyMatrix4(poseMatrix(body.pose));
      mesh.receiveShadow = true;
      mesh.renderOrder = -1;
      this.planes.push(mesh);
      this.group.add(mesh);
    }
    if (!this.hasPlane) {
      const grid = new Mesh(new PlaneGeometry(2 * reach, 2 * reach), this.lines);
      grid.renderOrder = -1;
      this.group.add(grid);
    }
  }

  setColors(colors: GroundColors): void {
    this.surface.color.set(colors.surface);
    this.uniforms.gridColor.value.set(colors.line);
  }

  // The picture fades with the distance from what is looked at.
  setCenter(center: Vector3, distance: number): void {
    this.uniforms.fadeCenter.value.copy(center);
    this.uniforms.fadeRadius.value = Math.min(this.reach, Math.max(10, 12 * distance));
  }

  private addLines(material: Material, onlyLines: boolean): void {
    material.onBeforeCompile = (shader: WebGLProgramParametersWithUniforms) => {
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader =
        vertexHead +
        shader.vertexShader.replace(
          "#include <begin_vertex>",
          "#include <begin_vertex>\nvGround = position;\nvGroundWorld = (modelMatrix * vec4(position, 1.0)).xyz;",
        );
      const ending = onlyLines
        ? "gl_FragColor = vec4(gridColor, 0.9 * ink * far);"
        : "gl_FragColor.rgb = mix(gl_FragColor.rgb, gridColor, 0.8 * ink); gl_FragColor.a *= far;";
      shader.fragmentShader =
        fragmentHead +
        shader.fragmentShader.replace(
          "#include <colorspace_fragment>",
          `${fragmentTail}\n${ending}\n#include <colorspace_fragment>`,
        );
    };
  }
}
