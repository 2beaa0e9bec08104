import { expect, it } from "vitest";
import { fieldsOfHostHash, fieldsOfOwnHash, hostHash, isOurTab, ownHash } from "../../src/state/address";
import { fieldsOfPlace, type Place, placeOfFields, START } from "../../src/state/place";

const PLACE: Place = {
  view: "gaps",
  capture: "runs/a b&c=d/é%",
  steps: "3..7",
  run: "runs/a",
  rank: 3,
  range: { startUs: 12.5, endUs: 1234.567 },
  gapUs: 138.08957822262724,
  link: "sample",
  cause: "data_wait",
  device: 1,
  loader: 2,
  batch: "0:0:1:17:",
  sample: "5:0:0:40",
  stage: "decode::PIL.Image",
  call: "50:35:0:1",
  before: "capture:a",
  after: "run:b",
  anyway: "on",
  flame: "training:host",
  measure: "wait",
  order: "time",
  frame: "12~RandomMask.dilate",
  list: "on",
  search: "train.py & more",
  flat: "on",
  trend: "step",
  captures: "exp1 gpu",
  spans: "Random Crop",
  lanes: "worker:0.0,worker:0.1",
  sort: "stages.-self_us,slowest-calls.start",
  whatIf: "workers=4&stage=read::open=0.5x;usual",
};

it("keeps a place in an address, whatever is in the names", () => {
  const compared: Place = { ...PLACE, view: "compare" };
  expect(placeOfFields(fieldsOfPlace(compared))).toEqual(compared);
  const fields = fieldsOfPlace(PLACE);
  expect(placeOfFields(fields), "the compared captures are in Compare's address only").toEqual({
    ...PLACE,
    before: null,
    after: null,
    anyway: null,
  });
  expect(fieldsOfOwnHash(ownHash(fields))).toEqual(fields);
  expect(fieldsOfHostHash(hostHash("#data_pipeline", fields))).toEqual(fields);
  expect(fieldsOfPlace({ ...START, view: "stages" })).toEqual({ view: "stages" });
});

it("takes what it does not understand as not there", () => {
  expect(placeOfFields({ view: "nonsense" })).toBeNull();
  expect(placeOfFields({})).toBeNull();
  expect(
    placeOfFields(fieldsOfOwnHash("#view=gaps&from_us=9&to_us=x&device=-1&steps=7..3&cause=weather&link=%E0%A4%A")),
  ).toEqual({
    ...START,
    view: "gaps",
  });
  expect(placeOfFields({ view: "gaps", from_us: "9", to_us: "8" })?.range).toBeNull();
});

it("leaves the other settings in TensorBoard's address alone", () => {
  const hash = "#data_pipeline&smoothing=0.5&p.other.view=x&p.data_pipeline.view=stages&p.data_pipeline.gap_us=3";
  expect(fieldsOfHostHash(hash)).toEqual({ view: "stages", gap_us: "3" });
  expect(hostHash(hash, { view: "gaps" })).toBe(
    "#data_pipeline&smoothing=0.5&p.other.view=x&p.data_pipeline.view=gaps",
  );
  expect([isOurTab(hash), isOurTab("#scalars&p.data_pipeline.view=gaps"), isOurTab("")]).toEqual([true, false, false]);
});
