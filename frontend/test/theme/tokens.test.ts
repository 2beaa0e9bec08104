import { expect, it } from "vitest";
import { CAUSES, STAGE_KINDS } from "../../src/contract/words";
import { contrast, inkFor } from "../../src/theme/contrast";
import { dark } from "../../src/theme/dark";
import frames from "../../src/theme/frames.css?raw";
import index from "../../src/theme/index.css?raw";
import { light } from "../../src/theme/light";
import { colorOf, cssName, isHatched, MISSING_COLOR, TOKENS } from "../../src/theme/tokens";
import tools from "../../src/theme/tools.css?raw";

const css = index + tools;

it("uses only tokens that exist in the style sheet, and no raw colours", () => {
  const known = new Set<string>([...TOKENS.map(cssName), "--fill", "--on", "--depth", "--wide", "--tabs-px"]);
  for (let column = 1; column <= 14; column += 1) known.add(`--head-${column}`); // ui/data-table.tsx sets them
  const used = [...css.matchAll(/var\((--[\w-]+)/g)].map((match) => match[1] ?? "");
  expect(used.length).toBeGreaterThan(50);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
  expect(css).not.toMatch(/#[0-9a-f]{3,8}\b/i);
});

it("draws a missing token in hot pink", () => expect(colorOf(light, "no such token")).toBe(MISSING_COLOR));

it("gives every token a colour in both palettes, and stage kinds colours of their own", () => {
  for (const palette of [light, dark]) {
    for (const token of TOKENS) expect(palette[token], token).toMatch(/^#[0-9A-F]{6}$/);
    const colors = STAGE_KINDS.map(({ id }) => palette[id]);
    expect(new Set(colors).size).toBe(STAGE_KINDS.length);
  }
});

it.each([
  ["light", light],
  ["dark", dark],
] as const)("can be read: labels on filled boxes in %s", (_name, palette) => {
  for (const token of TOKENS.filter((one) => !isHatched(one)))
    expect(contrast(palette[token], inkFor(palette, token)), token).toBeGreaterThan(4.5);
});

it.each([
  ["light", light],
  ["dark", dark],
] as const)("can be read: text on paper in %s", (_name, palette) => {
  for (const ink of ["ink", "ink-muted", "ink-faint", "accent"] as const) {
    for (const ground of ["paper", "hover", "selected", "code-paper"] as const) {
      expect(contrast(palette[ink], palette[ground]), `${ink} on ${ground}`).toBeGreaterThan(4.5);
    }
  }
});

/** "selectors { ... background: ... var(--fill) 18%, var(--paper) ... }" */
const TINTS = [...frames.matchAll(/^(.+) \{.* background: [^;]*var\(--fill\) (\d+)%, var\(--paper\)/gm)];
const PARTS = [
  ...STAGE_KINDS.map(({ id }) => id),
  ...CAUSES.map(({ id }) => `idle:${id}` as const),
  "operator",
] as const;

it.each([
  ["light", light],
  ["dark", dark],
] as const)("can be read: labels on tinted frames in %s", (_name, palette) => {
  expect(TINTS.length).toBeGreaterThan(5);
  for (const [, selectors = "", percent] of TINTS) {
    const fills = /more-|less-/.test(selectors) ? (["more", "less"] as const) : PARTS;
    for (const token of fills) {
      const tint = mixed(palette[token], palette.paper, Number(percent) / 100);
      expect(contrast(palette.ink, tint), `${token} in ${selectors}`).toBeGreaterThan(4.5);
    }
  }
});

function mixed(fill: string, paper: string, share: number): string {
  const channel = (hex: string, at: number): number => Number.parseInt(hex.slice(at, at + 2), 16);
  const parts = [1, 3, 5].map((at) => Math.round(share * channel(fill, at) + (1 - share) * channel(paper, at)));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
