// Reports and comparisons as read from JSON, their sentences ready to be set: a number stays on the line of its unit.

import { type Capture, CaptureRows, Comparison, RanksList, Report, WholeRuns } from "../contract/report";

const SENTENCES = /(^|_)(sentence|text|title|advice|message|reason|verdict|finding)$/;
const NUMBER_AND_UNIT = /(\d) (?=(?:µs|ms|s|min|B|kB|MB|GB|TB)(?!\w))/g;

export function readCaptures(value: unknown): readonly Capture[] {
  return keptTogether(Report.fromJSON(value)).captures;
}

export function readWholeRuns(value: unknown): WholeRuns {
  return keptTogether(WholeRuns.fromJSON(value));
}

export function readRanks(value: unknown): RanksList {
  return keptTogether(RanksList.fromJSON(value));
}

export function readComparison(value: unknown): Comparison {
  return keptTogether(Comparison.fromJSON(value));
}

export function readRows(value: unknown): CaptureRows {
  return keptTogether(CaptureRows.fromJSON(value));
}

/** Every sentence in `message` with a no-break space between number and unit; names, code and numbers as they are. */
function keptTogether<T extends object>(message: T): T {
  for (const [key, value] of Object.entries(message)) {
    if (typeof value === "object" && value !== null) keptTogether(value);
    else if (typeof value === "string" && SENTENCES.test(key)) {
      Object.assign(message, { [key]: value.replace(NUMBER_AND_UNIT, "$1\u00a0") });
    }
  }
  return message;
}
