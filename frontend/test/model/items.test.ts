import { expect, test } from "vitest";
import { itemOf, itemsOf } from "../../src/model/items";

test.each([
  [undefined, "sample", "samples"],
  [{ item: "" }, "sample", "samples"],
  [{ item: "batch" }, "batch", "batches"],
  [{ item: "item" }, "item", "items"],
])("%j is of one %s, of several %s", (counted, one, several) => {
  expect([itemOf(counted), itemsOf(counted)]).toEqual([one, several]);
});
