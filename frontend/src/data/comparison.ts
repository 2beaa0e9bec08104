// The answer of the `compare` route (http_api.md).

import type { ComparedRun, Comparison, Difference, PartDifference, SettingChange, StageDifference } from "../contract/report";
import { diagnostic } from "./decode";
import { asObject, message, number, objects, optBoolean, optNumber, text, texts, type JsonObject } from "./json";

const run = (o: JsonObject): ComparedRun => ({
  name: text(o, "name"),
  files: texts(o, "files"),
  mode: text(o, "mode"),
  time_us: optNumber(o, "time_us"),
});

const difference = (o: JsonObject): Difference => ({
  before_us: number(o, "before_us"),
  after_us: number(o, "after_us"),
  change: number(o, "change"),
  low: optNumber(o, "low"),
  high: optNumber(o, "high"),
  detectable: optNumber(o, "detectable"),
  told_apart: optBoolean(o, "told_apart") ?? false,
});

const part = (o: JsonObject): PartDifference => ({
  name: text(o, "name"),
  before_us: optNumber(o, "before_us"),
  after_us: optNumber(o, "after_us"),
  change: optNumber(o, "change"),
  low: optNumber(o, "low"),
  high: optNumber(o, "high"),
});

const stage = (o: JsonObject): StageDifference => ({
  stage: text(o, "stage"),
  before_us: optNumber(o, "before_us"),
  after_us: optNumber(o, "after_us"),
  before_calls: optNumber(o, "before_calls"),
  after_calls: optNumber(o, "after_calls"),
  weight_us: optNumber(o, "weight_us"),
  typical: message(o, "typical", difference),
  measure: text(o, "measure"),
  beside: optBoolean(o, "beside") ?? false,
});

const setting = (o: JsonObject): SettingChange => ({ name: text(o, "name"), before: text(o, "before"), after: text(o, "after") });

export function decodeComparison(value: unknown): Comparison {
  const o = asObject(value);
  return {
    schema_version: number(o, "schema_version"),
    before: objects(o, "before", run),
    after: objects(o, "after", run),
    outcome: text(o, "outcome"),
    sentence: text(o, "sentence"),
    evidence: texts(o, "evidence"),
    unit: text(o, "unit"),
    time: message(o, "time", difference),
    parts: objects(o, "parts", part),
    stages: objects(o, "stages", stage),
    settings: objects(o, "settings", setting),
    diagnostics: objects(o, "diagnostics", diagnostic),
  };
}
