// The stage table: rows nested by path, siblings sorted, branches folded.

import type { Stage } from "../contract/report";
import { bytesPerCall } from "./costs";

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
  | "bytes_per_call";
export type StageSort = { readonly column: StageColumn | "name"; readonly descending: boolean };

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

function columnValue(stage: Stage, column: StageColumn): number | undefined {
  return column === "bytes_per_call" ? bytesPerCall(stage) : stage[column];
}

function compareStages(sort: StageSort): (a: Stage, b: Stage) => number {
  const direction = sort.descending ? -1 : 1;
  const { column } = sort;
  if (column === "name") return (a, b) => direction * stageName(a).localeCompare(stageName(b));
  return (a, b) => {
    const left = columnValue(a, column);
    const right = columnValue(b, column);
    // Unknown values stand last in both directions: they are neither large nor small.
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return direction * (left - right);
  };
}

/** Of the stage and all inside it the one that comes first: a branch stands where its largest stage would. */
function foremost({ stage, children }: StageNode, compare: (a: Stage, b: Stage) => number): Stage {
  return children.map((child) => foremost(child, compare)).reduce((a, b) => (compare(b, a) < 0 ? b : a), stage);
}

/** Depth-first rows with siblings in order; the children of folded rows are left out. */
export function nestedRows(roots: readonly StageNode[], sort: StageSort, folded: ReadonlySet<string>): StageRow[] {
  const compare = compareStages(sort);
  const order = (a: StageNode, b: StageNode): number =>
    sort.column === "name" ? compare(a.stage, b.stage) : compare(foremost(a, compare), foremost(b, compare));
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
