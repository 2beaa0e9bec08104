// Flame graphs as trees of frames, and their layout: which frames are drawn where, in shares of the width. Pure.

/** A frame of an icicle. Frame 0 is the whole: it has no function. `value` is with what it calls, `own` without. */
export type Frame = {
  readonly index: number;
  /** -1 for the whole. */
  readonly parent: number;
  readonly depth: number;
  /** The largest first, or in time order. */
  readonly children: readonly number[];
  readonly name: string;
  /** Short: "train.py:41"; "" for stages and the whole. */
  readonly place: string;
  readonly file: string;
  readonly source: string;
  /** user | library | recorder | native | stage | whole */
  readonly origin: string;
  /** Theme token that it is coloured by. */
  readonly token: string;
  readonly value: number;
  readonly own: number;
};

export type Flame = readonly Frame[];

/** What a tree is built from: depth first, by row. */
export type FrameFacts = Omit<Frame, "index" | "parent" | "children" | "own" | "token">;

/** With what calls it, the whole left out: what a row of a table says that is read alone. */
export function pathOf(flame: Flame, frame: Frame): string {
  const above = flame[frame.parent];
  return above === undefined || above.parent < 0 ? frame.name : `${pathOf(flame, above)} › ${frame.name}`;
}

export type Order = "heavy" | "time";

/** `token` colours the whole and what lies in no stage; inside a stage it is the stage's kind. "time": as rows come. */
export function growFlame(
  whole: string,
  value: number,
  token: string,
  rows: readonly FrameFacts[],
  order: Order = "heavy",
): Flame {
  const parents: number[] = [-1];
  const above: number[] = [0];
  for (const [row, { depth }] of rows.entries()) {
    above.length = Math.min(above.length, depth + 1);
    parents.push(above.at(-1) ?? 0);
    above.push(row + 1);
  }
  const first = { name: whole, place: "", file: "", source: "", origin: "whole", depth: -1, value };
  const facts = [first, ...rows];
  const children: number[][] = facts.map(() => []);
  for (const [index, parent] of parents.entries()) children[parent]?.push(index);
  const tokens: string[] = [];
  return facts.map((fact, index) => {
    const found = children[index] ?? [];
    const below = order === "time" ? found : found.toSorted((a, b) => (facts[b]?.value ?? 0) - (facts[a]?.value ?? 0));
    const inside = below.reduce((sum, child) => sum + (facts[child]?.value ?? 0), 0);
    const isStage = fact.origin === "stage" && fact.name.includes("::");
    tokens[index] = isStage ? kindOf(fact.name) : (tokens[parents[index] ?? -1] ?? token);
    return {
      ...fact,
      index,
      parent: parents[index] ?? -1,
      depth: fact.depth + 1,
      children: below,
      token: tokens[index] ?? token,
      own: Math.max(0, fact.value - inside),
    };
  });
}

function kindOf(stage: string): string {
  return stage.split("::")[0] ?? stage;
}

/** A drawn frame, or (`frame` null) frames side by side that are each too narrow to draw. Shares of the width. */
export type Box = {
  readonly frame: Frame | null;
  readonly count: number;
  readonly row: number;
  readonly left: number;
  readonly width: number;
};

/** The zoomed frame is as wide as the picture, as are those that called it; narrower than `least` is not drawn. */
export function layFlame(flame: Flame, zoomed: number, least: number): Box[] {
  const callers = callersOf(flame, zoomed);
  const boxes: Box[] = callers.map((frame) => ({ frame, count: 1, row: frame.depth, left: 0, width: 1 }));
  const top = flame[zoomed];
  if (top === undefined || top.value <= 0) return boxes;
  const waiting: Box[] = boxes.slice(-1);
  for (let box = waiting.pop(); box !== undefined; box = waiting.pop()) {
    if (box.frame === null) continue;
    const below = childrenOf(flame, box.frame, box.left, box.row + 1, top.value, least);
    boxes.push(...below);
    waiting.push(...below);
  }
  return boxes;
}

function childrenOf(flame: Flame, frame: Frame, left: number, row: number, whole: number, least: number): Box[] {
  const boxes: Box[] = [];
  let at = left;
  let narrow = { count: 0, left, width: 0 };
  for (const child of frame.children.map((index) => flame[index])) {
    if (child === undefined || child.value <= 0) continue;
    const width = child.value / whole;
    // Where the largest stand first, all narrow ones lie together behind them.
    if (width < least)
      narrow = { count: narrow.count + 1, left: narrow.count === 0 ? at : narrow.left, width: narrow.width + width };
    else {
      if (narrow.width >= least) boxes.push({ frame: null, row, ...narrow });
      narrow = { count: 0, left: at, width: 0 };
      boxes.push({ frame: child, count: 1, row, left: at, width });
    }
    at += width;
  }
  if (narrow.width >= least) boxes.push({ frame: null, row, ...narrow });
  return boxes;
}

/** From the whole to the frame itself. */
export function callersOf(flame: Flame, index: number): Frame[] {
  const found: Frame[] = [];
  for (let frame = flame[index]; frame !== undefined; frame = flame[frame.parent]) found.unshift(frame);
  return found;
}

export type Found = { readonly frames: ReadonlySet<number>; readonly value: number };

const NOTHING: Found = { frames: new Set(), value: 0 };

/** Frames whose function, file or line's text has the words; their time, counting a frame within another one once. */
export function searchFlame(flame: Flame, text: string): Found {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return NOTHING;
  const frames = new Set<number>();
  const covered = new Set<number>();
  let value = 0;
  for (const frame of flame.slice(1)) {
    const words = `${frame.name} ${frame.file} ${frame.place} ${frame.source}`.toLowerCase();
    const isFound = words.includes(wanted);
    if (isFound) frames.add(frame.index);
    if (isFound && !covered.has(frame.parent)) value += frame.value;
    if (isFound || covered.has(frame.parent)) covered.add(frame.index);
  }
  return { frames, value };
}

export type Turn = "up" | "down" | "left" | "right" | "first" | "last";

/** The frame that an arrow key leads to, of those that are drawn; the same one where there is none. */
export function turnTo(boxes: readonly Box[], current: number, turn: Turn): number {
  const drawn = boxes.filter((box) => box.frame !== null);
  const here = drawn.find((box) => box.frame?.index === current) ?? drawn[0];
  if (here?.frame === undefined || here.frame === null) return current;
  const index = here.frame.index;
  const inRow = drawn.filter((box) => box.row === here.row).toSorted((a, b) => a.left - b.left);
  const at = inRow.indexOf(here);
  const target: Readonly<Record<Turn, Box | undefined>> = {
    up: drawn.find((box) => box.frame?.index === here.frame?.parent),
    down: drawn.find((box) => box.frame?.parent === index),
    left: inRow[at - 1],
    right: inRow[at + 1],
    first: drawn[0],
    last: inRow.at(-1),
  };
  return target[turn]?.frame?.index ?? index;
}

/** A frame in an address: its number, and its name so that an address of another tree leads nowhere wrong. */
export function frameKey(frame: Frame): string {
  return `${frame.index}~${frame.name}`;
}

/** 0, the whole, where the tree has no such frame. */
export function frameOfKey(flame: Flame, key: string | null): number {
  const cut = key?.indexOf("~") ?? -1;
  if (key === null || cut < 0) return 0;
  const frame = flame[Number(key.slice(0, cut))];
  return frame !== undefined && frame.name === key.slice(cut + 1) ? frame.index : 0;
}
