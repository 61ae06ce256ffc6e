// Which shapes are drawn when nobody asks for more.
import type { SceneInfo } from "../data/document";

// For each shape. Groups decide, as the file has them; but a mechanism (or the fixed part of the scene) of which nothing
// would be seen shows the shapes that it collides with.
export function shownShapes(scene: SceneInfo): boolean[] {
  // The topmost moving body of each one's mechanism; 0 for what does not move. Parents come first.
  const root: number[] = [];
  scene.bodies.forEach((body, b) => {
    root.push(body.moves ? root[body.parent]! || b : 0);
  });
  const seen = new Set<number>();
  for (const shape of scene.shapes) {
    if (shape.visual && (shape.color[3] > 0 || shape.type === "plane")) seen.add(root[shape.body]!);
  }
  return scene.shapes.map((shape) => (seen.has(root[shape.body]!) ? shape.visual : shape.collides));
}
