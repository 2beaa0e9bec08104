// What can be compared: single captures, runs of several captures, and folders of repeated runs.

import type { CaptureEntry, RepeatedRuns } from "../data/runs";
import { fullName, groupByRun, shortName, whenOf } from "./captures";
import { formatCount } from "./format";

/** `key` is stable as long as the log directory is; `ids` are the captures of the side. */
export type Side = { readonly key: string; readonly label: string; readonly ids: readonly string[] };

const RUN = "run:";
const CAPTURE = "capture:";

/** Several captures first, of a run or of repeated runs, then captures, newest first. What cannot be read cannot be compared,
 * and captures that are not of one program (the runs `mixed`) are no side together. */
export function sidesOf(
  captures: readonly CaptureEntry[],
  repeated: readonly RepeatedRuns[] = [],
  mixed: readonly string[] = [],
): Side[] {
  const readable = captures.filter((item) => item.state !== "error");
  const runs = groupByRun(readable).filter(({ run, captures: own }) => own.length > 1 && !mixed.includes(run));
  const places = new Map(readable.map(({ id }, place) => [id, place]));
  const newest = ({ ids }: Side): number => Math.min(...ids.map((id) => places.get(id) ?? readable.length));
  const several = [
    ...repeated.filter(({ ids }) => ids.every((id) => places.has(id))).map(({ folder, ids }) => sideOfRun(folder, ids)),
    ...runs.map(({ run, captures: own }) =>
      sideOfRun(
        run,
        own.map((item) => item.id),
      ),
    ),
  ];
  return [
    ...several.toSorted((a, b) => newest(a) - newest(b)),
    ...readable.map((item) => ({ key: sideOfCapture(item.id), label: labelOf(item), ids: [item.id] })),
  ];
}

function sideOfRun(run: string, ids: readonly string[]): Side {
  return { key: `${RUN}${run}`, label: `${labelOfRun(run)}: all ${ids.length} captures`, ids };
}

function labelOfRun(run: string): string {
  return run === "." ? "(log directory)" : run;
}

/** What there is where nothing can be compared, in words. */
export function aloneText(captures: readonly CaptureEntry[]): string {
  const broken = captures.filter((item) => item.state === "error").length;
  const readable = captures.length - broken === 0 ? "no capture" : "a single capture";
  return broken === 0 ? readable : `${readable} that can be read (${formatCount(broken)} cannot)`;
}

/** Why there is no side of this key, in words; null while that may still change. `where`: "in the log directory". */
export function absenceOf(
  key: string,
  captures: readonly CaptureEntry[],
  where: string,
  mixed: readonly string[] = [],
): string | null {
  const run = mixed.find((name) => key === `${RUN}${name}`);
  if (run !== undefined) return `${labelOfRun(run)} holds captures that are not known to be of one program`;
  if (key.startsWith(RUN)) return absenceOfRun(key.slice(RUN.length), captures, where);
  const id = key.startsWith(CAPTURE) ? key.slice(CAPTURE.length) : key;
  return captures.some((item) => item.id === id) ? `${id} cannot be read` : `${id} is not ${where}`;
}

function absenceOfRun(run: string, captures: readonly CaptureEntry[], where: string): string | null {
  const own = captures.filter((item) => item.run === run || item.run.startsWith(`${run}/`));
  if (own.length === 0) return `${run} is not ${where}`;
  if (own.some(({ state }) => state === "queued" || state === "loading")) return null;
  const readable = own.filter(({ state }) => state !== "error").length;
  if (readable < 2) return `${run} has ${readable === 0 ? "no capture" : "only one capture"} that can be read`;
  return `${run} does not hold repeated runs of one program, each in a folder of its own, with another run of it elsewhere`;
}

/** As the list of captures has it: its rank and its time tell captures of one run apart. */
function labelOf(item: CaptureEntry): string {
  const { start, end, isStamped } = shortName(item.name);
  const when = whenOf(item);
  const facts = [
    ...(item.rank === null ? [] : [`rank ${item.rank}`]),
    ...(isStamped && when !== null ? [when.words] : []),
  ];
  return [fullName({ run: item.run, name: `${start}${end}` }), ...facts].join(", ");
}

export function sideOfCapture(id: string): string {
  return `${CAPTURE}${id}`;
}

/** The smallest side of several captures that a single one is of. */
export function runAround(sides: readonly Side[], { ids }: Side): Side | null {
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0) return null;
  const around = sides.filter((side) => side.ids.length > 1 && side.ids.includes(id));
  return around.toSorted((a, b) => a.ids.length - b.ids.length)[0] ?? null;
}
