import { render } from "preact";
import { expect, it } from "vitest";
import { Quantity } from "../../src/contract/report";
import { IntervalPicture, reachOf } from "../../src/views/compare/intervals";

it("draws an interval whole where it is significant, and with an arrow where it leaves the picture", () => {
  const slower = Quantity.fromJSON({ change: 0.75, low: 0.5, high: 1.05, outcome: "slower" });
  const unsure = Quantity.fromJSON({ change: 0.1, low: -0.4, high: 1.3, outcome: "not_significant" });
  const reach = reachOf([slower, unsure]);
  expect(reach).toBe(1.05);
  const lineOf = (quantity: Quantity) => {
    const host = document.createElement("div");
    render(<IntervalPicture quantity={quantity} reach={reach} token="stage-decode" />, host);
    return host.querySelector(".interval-line")?.getAttribute("d") ?? "";
  };
  const [x, point] = [/H([\d.]+)/, 80 + (0.75 / 1.05) * 75];
  expect(Number(x.exec(lineOf(slower))?.[1])).toBeGreaterThan(point + 20);
  expect([lineOf(slower), lineOf(unsure)].map((line) => line.split("M").length - 1)).toEqual([1, 2]);
  expect(lineOf(unsure)).toContain("H160M156 3L160 6");
});
