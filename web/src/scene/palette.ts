// Colours with a meaning, the same in the picture, the panel and the charts.
import { Color } from "three";

export const modeNames = ["open", "stick", "slip"] as const;
export const modeColors = [new Color("#7d8794"), new Color("#2f9e62"), new Color("#e0822a")];

const hues = [
  "#3f7fd0",
  "#d9822b",
  "#3aa076",
  "#b35fb5",
  "#c9504a",
  "#7f8f2f",
  "#2aa3b5",
  "#8a6fd6",
  "#b8863b",
  "#5d7a94",
];
const islandColors = hues.map((hue) => new Color(hue));

export function islandColor(island: number): Color {
  return islandColors[island % islandColors.length]!;
}

// What a body that sleeps is drawn with, and how much of it is mixed into the body's own colour.
export const sleepColor = new Color("#4a4f57");
export const sleepShare = 0.6;

// Colours of curves, by theme, in the order of the channels of a chart.
export const curveColors = {
  light: ["#1d6fb8", "#c8700f", "#33373d", "#2f8f5b", "#8f4fb0", "#b3413a", "#0d8a9b", "#7a7f1e"],
  dark: ["#6db3f2", "#f0a24a", "#d6d9de", "#5fce8e", "#c695e8", "#ff8a80", "#58cfe0", "#c9cf62"],
};
