import { expect, it } from "vitest";
import { find, open } from "../page";

it("offers ui.perfetto.dev and a download when Perfetto is not installed", () => {
  const root = open({}, "trace");
  expect(find("open-perfetto").textContent).toContain("ui.perfetto.dev");
  expect(find("download-trace").getAttribute("href")).toContain("trace?id=exp1%2Fc");
  expect(root.querySelector("iframe")).toBeNull();
});
