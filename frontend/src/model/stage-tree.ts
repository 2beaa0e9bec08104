// The stage table: rows nested by path, siblings sorted, branches folded.

import type { Stage } from "../contract/report";
import { bytesPerCall, limitWords } from "./costs";
import { type ColumnValue, compared } from "./sorting";

export type StageColumn =
  | "count"
  | "total_us"
  | "self_us"
  | "p50_us"
  | "p95_us"
  | "max_us"
  | "blame_us"
  | "cpu_us"
  | "replay_mean_us"
  | "replay_ratio"
  | "bytes_per_call"
  | "wait_share"
  | "limited_by"
  | "name";
export type StageSort = { readonly column: StageColumn; readonly descending: boolean };
/** Numbers begin with the largest, words with a. */
const WORDS: ReadonlySet<StageColumn> = new Set<StageColumn>(["name", "limited_by"]);

export function isWords(column: StageColumn): boolean {
  return WORDS.has(column);
}

export type StageNode = { readonly stage: Stage; readonly key: string; readonly children: StageNode[] };
export type StageRow = {
  readonly stage: Stage;
  readonly key: string;
  readonly depth: number;
  readonly childCount: number;
  readonly folded: boolean;
};

export function stageName(stage: Stage): string {
  return `${stage.kind}::${stage.label}`;
}

/** A stage's own name may have more of what parts it from its kind: `user::io::parse`. */
export function partsOf(name: string): { readonly kind: string; readonly label: string } {
  const at = name.indexOf("::");
  return at < 0 ? { kind: name, label: name } : { kind: name.slice(0, at), label: name.slice(at + 2) };
}

/** Unique and readable: the enclosing stages, outermost first. */
export function stageKey(stage: Stage): string {
  const path = stage.path.length > 0 ? stage.path : [stageName(stage)];
  return path.join(" > ");
}

/** A stage whose parent is not in the list stands at the top, rather than vanish. */
export function buildTree(stages: readonly Stage[]): StageNode[] {
  const nodes = new Map<string, StageNode>();
  for (const stage of stages) nodes.set(stageKey(stage), { stage, key: stageKey(stage), children: [] });
  const roots: StageNode[] = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.stage.path.slice(0, -1).join(" > "));
    (parent === undefined || parent === node ? roots : parent.children).push(node);
  }
  return roots;
}

function columnValue(stage: Stage, column: StageColumn): ColumnValue {
  if (column === "name") return stageName(stage);
  if (column === "wait_share") return stage.blame_us;
  if (column === "limited_by") return limitWords(stage);
  return column === "bytes_per_call" ? bytesPerCall(stage) : stage[column];
}

function compareStages({ column, descending }: StageSort): (a: Stage, b: Stage) => number {
  return (a, b) => compared(columnValue(a, column), columnValue(b, column), descending);
}

/** Of the stage and all inside it: a branch stands where that would, whichever end the largest come to. */
function largest({ stage, children }: StageNode, first: (a: Stage, b: Stage) => number): Stage {
  return children.map((child) => largest(child, first)).reduce((a, b) => (first(b, a) < 0 ? b : a), stage);
}

/** Depth-first rows with siblings in order; the children of folded rows are left out. */
export function nestedRows(roots: readonly StageNode[], sort: StageSort, folded: ReadonlySet<string>): StageRow[] {
  const [compare, first] = [compareStages(sort), compareStages({ ...sort, descending: true })];
  const order = (a: StageNode, b: StageNode): number =>
    sort.column === "name" ? compare(a.stage, b.stage) : compare(largest(a, first), largest(b, first));
  const rows: StageRow[] = [];
  const visit = (nodes: readonly StageNode[], depth: number): void => {
    for (const node of nodes.toSorted(order)) {
      const isFolded = folded.has(node.key);
      rows.push({ stage: node.stage, key: node.key, depth, childCount: node.children.length, folded: isFolded });
      if (!isFolded) visit(node.children, depth + 1);
    }
  };
  visit(roots, 0);
  return rows;
}

export function flatRows(stages: readonly Stage[], sort: StageSort): StageRow[] {
  const compare = compareStages(sort);
  return stages
    .toSorted(compare)
    .map((stage) => ({ stage, key: stageKey(stage), depth: 0, childCount: 0, folded: false }));
}
