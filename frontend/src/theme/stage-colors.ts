// The colours of stage kinds: the one place where a new kind of tb_dataplugin/words.py gets its colours on the page.

import type { StageKind } from "./tokens";

type Shades = { readonly light: string; readonly dark: string };

const STAGE_COLORS: Readonly<Record<StageKind, Shades>> = {
  sampler: { light: "#6C4A9E", dark: "#B79BE0" },
  wrapper: { light: "#2F6F6F", dark: "#7FC4C0" },
  read: { light: "#0072B2", dark: "#4FA3D9" },
  decode: { light: "#56B4E9", dark: "#8CCDF2" },
  transform: { light: "#009E73", dark: "#3CC79B" },
  collate: { light: "#CC79A7", dark: "#E3A3C6" },
  transfer: { light: "#E69F00", dark: "#F2BC4C" },
  h2d: { light: "#DB6100", dark: "#F08A45" },
  user: { light: "#867600", dark: "#D8C94A" },
  wait: { light: "#9A9A9A", dark: "#7A7A7A" },
  sample: { light: "#EEC78B", dark: "#704010" },
};

export function stageColors(theme: keyof Shades): Record<StageKind, string> {
  const colors = Object.entries(STAGE_COLORS).map(([kind, shades]) => [kind, shades[theme]]);
  return Object.fromEntries(colors) as Record<StageKind, string>;
}
