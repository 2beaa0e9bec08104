// Which ink can be read on a filled box.

import { colorOf, type Palette } from "./tokens";

function channel(hex: string, at: number): number {
  const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance of "#RRGGBB" (WCAG 2.2). */
function luminance(hex: string): number {
  return 0.2126 * channel(hex, 1) + 0.7152 * channel(hex, 3) + 0.0722 * channel(hex, 5);
}

export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}

/** Of paper and ink, the one that stands out more from the token's colour. */
export function inkFor(palette: Palette, token: string): string {
  const fill = colorOf(palette, token);
  return contrast(fill, palette.paper) >= contrast(fill, palette.ink) ? palette.paper : palette.ink;
}
